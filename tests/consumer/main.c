/* The smallest program outside this tree; it runs with the library that it links. */
#include <stdio.h>
#include <weft.h>

int main(void)
{
        printf("weft %s\n", weft_version());
        return 0;
}
