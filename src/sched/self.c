/* sched/self.c - the id, name, slice and errno of the calling goroutine.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/self.h"

#include "sched/run/foreign.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "weft.h"

#include <string.h>

enum {
        SLICE_NS = 10000000,    /* how long a goroutine may compute between two checkpoints */
        CLOCK_EVERY = 32,       /* checkpoints between two reads of the clock, which cost 30 ns */
};

W_EXPORT int64_t weft_id(void)
{
        W_ENTER();
        struct g *gp = w_g();
        int64_t   id = gp ? gp->id : 0;

        W_LEAVE();
        return id;
}

/* True: c may stand in a name. Reports are read line by line, with names in quotes. */
static bool may_be_quoted(char c)
{
        return (unsigned char)c >= ' ' && c != '"' && c != '\177';
}

/* A name that is too long is cut, but not in the middle of a UTF-8 character. */
void w_name_copy(char out[W_NAME_BYTES], const char *name)
{
        size_t n = strnlen(name, W_NAME_BYTES);

        if (n == W_NAME_BYTES) {
                n = W_NAME_BYTES - 1;
                while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
                        n--;
        }
        for (size_t i = 0; i < n; i++)
                out[i] = may_be_quoted(name[i]) ? name[i] : '?';
        out[n] = '\0';
}

W_EXPORT void weft_name(const char *name)
{
        W_ENTER();
        struct g *gp = w_g();

        if (gp)
                w_name_copy(w_g_cold(gp)->name, name ? name : "");
        W_LEAVE();
}

W_EXPORT int64_t weft_count(void)
{
        if (!w_foreign_enter())
                return 0;
        W_ENTER();
        int64_t n = w_g_count_alive();

        W_LEAVE();
        w_foreign_exit();
        return n;
}

/* True: the current slice of this P is used up. A new tick begins a new slice. */
static bool slice_is_over(struct p *pp)
{
        if (pp->n_checkpoints++ % CLOCK_EVERY)
                return false;
        int64_t now = w_os_now();

        if (pp->slice_tick != pp->tick) {
                pp->slice_tick = pp->tick;
                pp->slice_at = now;
        }
        return now - pp->slice_at >= SLICE_NS;
}

W_EXPORT int weft_checkpoint(void)
{
        W_ENTER();
        struct p *pp = w_p();
        bool      stays = w_where_before_ & W_IN_NOPREEMPT;
        bool      region = w_where_before_ & W_IN_REGION;      /* keeps its P, if it has one */
        bool      lost = !pp && w_g() && !stays;        /* the slice was over long ago */
        bool      over = pp && !stays && (w_p_is_wanted(pp) || slice_is_over(pp));

        if (over && !region)
                w_p_count(&pp->stats.preemptions, w_p_turn_is_wanted(pp));
        if (over)
                pp->slice_at = w_os_now();
        if (over || lost)
                w_yield();
        W_LEAVE();
        return over || lost;
}

/* Out of line and not const, so that every use of errno in user code calls it again: see weft.h. */
W_NOIPA W_EXPORT int *weft_errno(void)
{
        return w_os_errno();
}
