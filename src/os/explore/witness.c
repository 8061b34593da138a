/* os/explore/witness.c - a failure is printed by a process that was made before the search.
 *
 * An execution that fails stops in the middle. The static memory of the explored sources (held
 * locks, queued waiters) stays as it is, and a scenario's setup cannot reach all of it. Therefore
 * the failure is replayed and printed by another process, in which that execution has not run.
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
        int   tell;             /* a pipe to the witness, for a trail or nothing */
} witness;

/* Waits for a trail and prints its execution. Without a trail it prints nothing. */
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
