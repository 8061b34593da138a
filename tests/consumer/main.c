/* The smallest outside program: what it links is what it runs. */
#include <stdio.h>
#include <weft.h>

int main(void)
{
        printf("weft %s\n", weft_version());
        return 0;
}
