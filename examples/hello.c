/* hello.c - goroutines that greet, and a goroutine that waits for them. */
#include <stdio.h>
#include <weft.h>

static void greet(void *name)
{
        printf("hello from goroutine %lld: %s\n", (long long)weft_id(), (const char *)name);
}

static void start(void *arg)
{
        (void)arg;
        int64_t first = weft_go(greet, "warp");
        int64_t second = weft_go(greet, "weft");

        weft_join(first);
        weft_join(second);
}

int main(void)
{
        return weft_run(start, NULL);
}
