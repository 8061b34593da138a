/* weft/main.h - a main function that is a goroutine. Not part of weft.h.
 *
 * This header defines main. A program must include it in exactly one of its files. In any of its
 * files the program must define
 *
 *   int weft_main(int argc, char **argv)
 *
 * main calls weft_run, and weft_main(argc, argv) runs as goroutine 1. The options come from the
 * environment. The result of weft_main is the exit status of the program. If weft_main ends by
 * weft_exit, the program ends when the last goroutine has ended. Its exit status is 0 then. If the
 * runtime cannot start, a line "weft: ..." on stderr tells why, and the exit status is 1.
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
