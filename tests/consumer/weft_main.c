/* A program outside this tree without main. The result of weft_main is the exit status. Compiled as
 * C and as C++. */
#include <stdlib.h>
#include <weft/main.h>

int weft_main(int argc, char **argv)
{
        if (weft_id() != 1 || argc != 2)
                return 100;
        if (strcmp(argv[1], "exit") == 0)
                weft_exit();
        return atoi(argv[1]);
}
