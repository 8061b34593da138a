/* weft/main.h - a main function that is a goroutine. Not part of weft.h.
 *
 * A program includes this header in one of its files and defines, there or elsewhere,
 *
 *   int weft_main(int argc, char **argv)
 *
 * instead of main. weft_main runs as goroutine 1 of weft_run, with the options of the environment.
 * Its result is the exit status of the program. If weft_main ends by weft_exit, the program ends
 * when the last goroutine has ended, and its exit status is 0. If the runtime cannot start, a line
 * "weft: ..." on stderr says why, and the exit status is 1.
 *
 * A program that needs options (weft_config) writes its own main and calls weft_run_with.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_MAIN_H
#define WEFT_MAIN_H

#include <stdio.h>
#include <string.h>
#include <weft.h>

struct weft_main_call_ {
        int    argc;
        char **argv;
        int    status;
};

#ifdef __cplusplus
extern "C" {
#endif

int weft_main(int argc, char **argv);

static void weft_main_first_(void *arg)
{
        struct weft_main_call_ *call = (struct weft_main_call_ *)arg;

        call->status = weft_main(call->argc, call->argv);
}

#ifdef __cplusplus
}
#endif

int main(int argc, char **argv)
{
        struct weft_main_call_ call = { argc, argv, 0 };
        int                    rc = weft_run(weft_main_first_, &call);

        if (rc < 0) {
                fprintf(stderr, "weft: the runtime cannot start: %s\n", strerror(-rc));
                return 1;
        }
        return call.status;
}

#endif
