/* os/sim/child.c - child processes of the simulated machine, which a scenario ends. Contract:
 * os/child.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ECHILD and others */

static struct sim_child *find_child(int pid)
{
        for (uint32_t i = 0; i < N_CHILDREN; i++) {
                struct sim_child *child = &w_sim.net.children[i];

                if (child->pid && (child->pid == pid || (pid == -1 && child->has_ended)))
                        return child;
        }
        return NULL;
}

static bool has_children(void)
{
        for (uint32_t i = 0; i < N_CHILDREN; i++)
                if (w_sim.net.children[i].pid)
                        return true;
        return false;
}

int sim_start_child(void)
{
        static const int first_pid = 100;

        for (uint32_t i = 0; i < N_CHILDREN; i++) {
                struct sim_child *child = &w_sim.net.children[i];

                if (child->pid)
                        continue;
                *child = (struct sim_child){ .pid = first_pid + (int)w_sim.net.n_children++ };
                return child->pid;
        }
        sim_fail("too many children");
}

void sim_end_child(int pid, int status)
{
        w_sim_call("child ends");
        struct sim_child *child = find_child(pid);

        SIM_CHECK(child && !child->has_ended, "no child %d that could end", pid);
        child->has_ended = true;
        w_sim_poller_mark_child(child);
        child->status = status;
        W_SIM_LOG(w_sim.running, NULL, "child    %d ends", pid);
        w_sim_poller_tell();
        w_sim_return();
}

int w_os_child_wait(int pid, int *status, int options)
{
        w_sim_call("waitpid");
        struct sim_child *child = find_child(pid);
        int rc = child || (pid == -1 && has_children()) ? 0 : -ECHILD;

        (void)options;
        if (child && child->has_ended) {
                *status = child->status;
                rc = child->pid;
                child->pid = 0;
        }
        W_SIM_LOG(w_sim.running, NULL, "waitpid  %d: %d", pid, rc);
        w_sim_return();
        return rc;
}

/* A descriptor of an ended child stays readable: it refers to the child, not to its number. */
int w_os_child_open(int pid)
{
        w_sim_call("pidfd");
        struct sim_child *child = find_child(pid);
        int               rc = !child ? -ESRCH : w_sim_chance(200) ? -ENOSYS : 0;

        if (rc == 0) {
                struct sim_file *file = w_sim_new_file();

                file->child = child;
                file->child_pid = pid;
                rc = w_sim_new_fd(file);
        }
        w_sim_return();
        return rc;
}
