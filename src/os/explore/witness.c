/* os/explore/witness.c - a failure is printed by a process that was made before the search.
 *
 * Called by   run.c.
 *
 * An execution that fails stops in the middle: what the explored sources keep in static memory
 * (locks held, waiters in line) stays as it is, and a scenario's setup cannot reach all of it. So
 * the process that tells the failure over again is one that has not seen it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
        pid_t process;
        int   tell;             /* a trail, or nothing, goes in here */
} witness;

/* Waits for a trail. */
W_NORETURN static void be_witness(int from, void (*print)(void))
{
        char    trail[W_EXPLORE_TRAIL + 32];
        size_t  n = 0;
        ssize_t got;

        while (n < sizeof(trail) - 1 && (got = read(from, trail + n, sizeof(trail) - 1 - n)) > 0)
                n += (size_t)got;
        trail[n] = '\0';
        if (n > 0 && w_ex_trail_parse(trail))
                print();
        fflush(stdout);
        _exit(0);
}

void w_ex_witness_call(void (*print)(void))
{
        int ends[2];

        fflush(stdout);
        W_CHECK(pipe(ends) == 0, "explorer: no pipe is available");
        witness.process = fork();
        W_CHECK(witness.process >= 0, "explorer: no process is available");
        if (witness.process == 0) {
                close(ends[1]);
                be_witness(ends[0], print);
        }
        close(ends[0]);
        witness.tell = ends[1];
}

void w_ex_witness_dismiss(const char *trail)
{
        size_t n = strlen(trail);

        fflush(stdout);
        W_CHECK(write(witness.tell, trail, n) == (ssize_t)n, "explorer: the witness is gone");
        close(witness.tell);
        waitpid(witness.process, NULL, 0);
}
