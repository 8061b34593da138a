/* sched/run/follow.c - a duty of the monitor: as many Ps as the machine lets us have CPUs.
 *
 * Called by   sysmon, once a second at most; config and weft_procs for the number itself.
 * Protocols   cites resize (sched/run/procs.c).
 *
 * What may change while a program runs: the CPUs that its threads may use, and the CPU limits of
 * its cgroup and of those around it. It is looked at only if nobody has said a number: neither the
 * code, nor WEFT_PROCS, nor weft_procs since.
 *
 * The monitor itself stops the world and changes the number: no goroutine is needed, so none is
 * counted, and none is left if the run ends meanwhile. With every P idle it sleeps, and looks when
 * one is used again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sched/monitor/sysmon.h"

enum { LOOK_EVERY_NS = 1000000000 };

/* Asks for the CPUs of the monitor's thread: a program may bind others of its threads for reasons
 * of its own. Before there is one: for the caller's, from which it has them. */
int w_procs_found(void)
{
        int cpus = w_os_cpu_count(w_sysmon_tid()), quota = w_os_cpu_quota();

        if (quota > 0 && quota < cpus)
                cpus = quota;
        return cpus < W_PROCS_MAX ? cpus : W_PROCS_MAX;
}

void w_follow_begin(int64_t now)
{
        w_sched.follow_at = now + LOOK_EVERY_NS;
}

/* No memory for it now: perhaps in a second. */
uint32_t w_follow(int64_t now)
{
        if (W_LIKELY(now < w_sched.follow_at))
                return 0;
        w_sched.follow_at = now + LOOK_EVERY_NS;
        if (!w_load_rlx(&w_sched.follows))                        /* hint: looked at again */
                return 0;
        int n = w_procs_found();

        return (uint32_t)n != w_n_procs() && w_procs_follow(n) > 0;
}
