/* os/sim/poller.c - events on descriptors. Contract: os/poller.h.
 *
 * Like the real poller it registers files, each under a number. After that number was closed, a
 * file stays registered as long as another number leads to it, and its events are reported under
 * the old number. A waiter may receive a report late, like a thread that the kernel has woken but
 * does not run. A watched file is reported when a new event has happened, with all conditions that
 * hold by then: the last bytes and the end of the stream may be one report. Some reports are
 * spurious.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* EEXIST and others */

#define SLEEPS_HERE (&w_sim.net)        /* as sim_m.word */

/* The events that a wait would report for k now. */
static uint32_t news_of(const struct sim_known *k)
{
        if (!k->file || !k->events)
                return 0;
        uint32_t state = w_sim_file_state(k->file);

        return k->watched ? state : state & (k->events | W_POLL_ERR | W_POLL_HUP);
}

static bool is_any_news(void)
{
        w_sim_net_settle();
        for (uint32_t i = 0; i < w_sim.net.known_end; i++)
                if (news_of(&w_sim.net.known[i]))
                        return true;
        return false;
}

bool sim_has_news(void)
{
        return is_any_news();
}

bool sim_wakeups(void)
{
        return w_sim.net.wakeups;
}

/* Wakes one of the waiters for an event, or all of them while the wakeup is set. */
void w_sim_poller_tell(void)
{
        struct sim_m *one = NULL;
        uint32_t      n = 0;
        bool          tells = w_sim.net.wakeups || is_any_news();
        int64_t       due = w_sim_net_due();

        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[i];

                if (m->state != M_WAITING || m->word != SLEEPS_HERE)
                        continue;
                if (due < m->due_at)
                        w_sim_set_due(m, due);  /* a network event is due */
                if (w_sim.net.wakeups)
                        w_sim_wake(m);
                else if (tells && w_rand_below(&w_sim.rand, ++n) == 0)
                        one = m;
        }
        if (one)
                w_sim_wake(one);
}

/* True: the file is this end of the pipe. */
static bool is_end_of(const struct sim_file *file, const struct sim_pipe *pipe, bool writes)
{
        if (file->socket)
                return (writes ? file->socket->out : file->socket->in) == pipe;
        return file->pipe == pipe && file->writes == writes;
}

static const struct sim_known *known_end(void)
{
        return w_sim.net.known + w_sim.net.known_end;
}

static void mark(struct sim_known *k, bool concerned)
{
        if (k->watched && concerned)
                k->events = 1;
}

void w_sim_poller_mark(const struct sim_pipe *pipe, bool writes)
{
        for (struct sim_known *k = w_sim.net.known; k < known_end(); k++)
                mark(k, k->file && is_end_of(k->file, pipe, writes));
}

void w_sim_poller_mark_socket(const struct sim_socket *s)
{
        for (struct sim_known *k = w_sim.net.known; k < known_end(); k++)
                mark(k, k->file && k->file->socket == s);
}

void w_sim_poller_mark_child(const struct sim_child *child)
{
        for (struct sim_known *k = w_sim.net.known; k < known_end(); k++)
                mark(k, k->file && k->file->child == child);
}

void w_sim_poller_lose(const struct sim_file *file)
{
        for (uint32_t i = 0; i < w_sim.net.known_end; i++)
                if (w_sim.net.known[i].file == file)
                        w_sim.net.known[i].file = NULL;
}

void sim_poller_refuses(uint32_t of_1024)
{
        w_sim.net.p_refuse = of_1024;
}

static bool has_no_room(void)
{
        return (w_sim.net.p_refuse && w_sim_chance(w_sim.net.p_refuse)) || w_sim_fails();
}

/* ---- Begin and end --------------------------------------------------------------------------- */

int w_os_poller_open(struct w_os_poller *poller)
{
        w_sim_call("poller open");
        int rc = has_no_room() ? -EMFILE : 0;

        SIM_CHECK(!w_sim.net.is_open, "a second poller");
        w_sim.net.is_open = rc == 0;
        poller->fd = poller->wakeup = -1;
        w_sim_return();
        return rc;
}

void w_os_poller_close(struct w_os_poller *poller)
{
        (void)poller;
        w_sim_call("poller close");
        SIM_CHECK(w_sim.net.is_open, "a poller is closed that was not open");
        w_sim.net.is_open = w_sim.net.wakeups = false;
        for (uint32_t i = 0; i < w_sim.net.known_end; i++)
                w_sim.net.known[i].file = NULL;
        w_sim.net.known_end = 0;
        w_sim_return();
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static struct sim_known *find_known(const struct sim_file *file, int fd)
{
        for (uint32_t i = 0; i < N_KNOWN; i++)
                if (w_sim.net.known[i].file == file && (!file || w_sim.net.known[i].fd == fd))
                        return &w_sim.net.known[i];
        return NULL;
}

static void set_known(struct sim_known *k, struct sim_known to)
{
        uint32_t end = (uint32_t)(k - w_sim.net.known) + 1;

        *k = to;
        if (end > w_sim.net.known_end)
                w_sim.net.known_end = end;
        W_SIM_LOG(w_sim.running, NULL, "poller   armed for %d, events %x, seq %u", to.fd, to.events,
                  to.seq);
        w_sim_poller_tell();
}

int w_os_poller_add(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events)
{
        (void)poller;
        w_sim_call("poller add");
        struct sim_file  *file = w_sim_file(fd);
        struct sim_known *k = find_known(NULL, 0);
        int rc = !file ? -EBADF : file->is_regular ? -EPERM : find_known(file, fd) ? -EEXIST : 0;

        if (rc == 0 && has_no_room())
                rc = -ENOMEM;

        SIM_CHECK(k, "the poller knows too many files");
        if (rc == 0)
                set_known(k, (struct sim_known){ file, fd, seq, events, false });
        w_sim_return();
        return rc;
}

int w_os_poller_arm(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events)
{
        (void)poller;
        w_sim_call("poller arm");
        struct sim_file  *file = w_sim_file(fd);
        struct sim_known *k = file ? find_known(file, fd) : NULL;

        if (k)
                set_known(k, (struct sim_known){ file, fd, seq, events, false });
        w_sim_return();
        return k ? 0 : file ? -ENOENT : -EBADF;
}

/* Reads the state, as w_os_fd_poll does. A condition that does not hold yet is reported later. */
static void set_watched(struct sim_known *k, struct sim_file *file, int fd, uint32_t seq)
{
        uint32_t state = w_sim_file_look(file);

        set_known(k, (struct sim_known){ file, fd, seq, state != 0, true });
}

int w_os_poller_watch(struct w_os_poller *poller, int fd, uint32_t seq)
{
        (void)poller;
        w_sim_call("poller watch");
        struct sim_file  *file = w_sim_file(fd);
        struct sim_known *k = find_known(NULL, 0);
        int rc = !file ? -EBADF : find_known(file, fd) ? -EEXIST : has_no_room() ? -ENOMEM : 0;

        SIM_CHECK(k, "the poller knows too many files");
        if (rc == 0)
                set_watched(k, file, fd, seq);
        w_sim_return();
        return rc;
}

int w_os_poller_remind(struct w_os_poller *poller, int fd, uint32_t seq)
{
        (void)poller;
        w_sim_call("poller remind");
        struct sim_file  *file = w_sim_file(fd);
        struct sim_known *k = file ? find_known(file, fd) : NULL;

        SIM_CHECK(!k || k->watched, "%d is not watched", fd);
        if (k)
                set_watched(k, file, fd, seq);
        w_sim_return();
        return k ? 0 : file ? -ENOENT : -EBADF;
}

void w_os_poller_forget(struct w_os_poller *poller, int fd)
{
        (void)poller;
        w_sim_call("poller forget");
        struct sim_file  *file = w_sim_file(fd);
        struct sim_known *k = file ? find_known(file, fd) : NULL;

        if (k)
                k->file = NULL;
        w_sim_return();
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* A watched file may be reported although no event has happened. */
static void invent(void)
{
        struct sim_known *k = &w_sim.net.known[w_rand_below(&w_sim.rand, N_KNOWN)];

        if (k->file && k->watched)
                k->events = 1;
}

/* The events were reported; the next events are new again. */
static void look_away(struct sim_known *k)
{
        k->events = 0;
        (void)w_sim_file_look(k->file);
}

/* Reports some or all of the events, in any order. */
static int gather(struct w_os_event *out, int n)
{
        if (w_sim.profile.p_spurious && w_sim_chance(w_sim.profile.p_spurious))
                invent();
        uint32_t first = w_rand_below(&w_sim.rand, N_KNOWN);
        int      n_out = 0;

        for (uint32_t i = 0; i < N_KNOWN && n_out < n; i++) {
                struct sim_known *k = &w_sim.net.known[(first + i) % N_KNOWN];

                uint32_t          news = news_of(k);

                if (!news && k->file && k->watched)
                        look_away(k);
                if (!news || (n_out && w_sim_chance(200)))
                        continue;
                out[n_out++] = (struct w_os_event){ k->fd, k->seq, news };
                k->events = 0;
                if (k->watched)
                        look_away(k);
                W_SIM_LOG(w_sim.running, NULL, "poller   tells of %d: %x, seq %u", k->fd, news,
                          k->seq);
        }
        if (n_out)
                w_sim_poller_tell();    /* another waiter gets the rest */
        return n_out;
}

int w_os_poller_wait(struct w_os_poller *poller, struct w_os_event *out, int n,
                     int64_t deadline_at)
{
        (void)poller;
        w_sim_call("poller wait");
        w_sim_signals_before_sleep();
        struct sim_m *self = w_sim.running;
        int           n_out;

        w_sim_net_settle();
        n_out = gather(out, n);
        if (n_out == 0 && !w_sim.net.wakeups && deadline_at > w_sim.now) {
                int64_t due = w_sim_net_due();

                self->word = SLEEPS_HERE;
                (void)w_sim_wait(w_sim_spurious_at(due < deadline_at ? due : deadline_at));
                self->word = NULL;
                w_sim_net_settle();
                n_out = gather(out, n);
        }
        int64_t late = n_out ? w_sim_lateness() : 0;

        if (late)
                (void)w_sim_wait(w_sim.now + late);     /* outdated when it arrives */
        w_sim_return();
        return n_out;
}

void w_os_poller_wake(struct w_os_poller *poller)
{
        (void)poller;
        w_sim_call("poller wake");
        SIM_CHECK(w_sim.net.is_open, "the wakeup of a poller that is not open");
        w_sim.net.wakeups = true;
        W_SIM_LOG(w_sim.running, NULL, "poller   wakeup is set");
        w_sim_poller_tell();
        w_sim_return();
}

void w_os_poller_wake_clear(struct w_os_poller *poller)
{
        (void)poller;
        w_sim_call("poller wake clear");
        w_sim.net.wakeups = false;
        W_SIM_LOG(w_sim.running, NULL, "poller   wakeup is cleared");
        w_sim_return();
}
