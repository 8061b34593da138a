/* weft/chan.h - channels and select. Part of weft.h, which includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Channels --------------------------------------------------------------------------------
 *
 * A channel carries elements of a fixed size from senders to receivers, in order. A caller must
 * hold a reference to the channel during the whole call. A channel is freed with its last
 * reference, or at the end of the run. Senders and receivers that wait are served in the order in
 * which they came. A NULL channel is never ready: a send or receive on it waits for ever. */
typedef struct weft_chan weft_chan;

/* Makes a channel for elements of elem_size bytes. 0: the elements carry no data. The buffer holds
 * `capacity` elements. 0: there is no buffer, and a sender waits for its receiver. The caller has
 * one reference. NULL: no memory, the sizes overflow, or no runtime runs. */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_chan_new(size_t elem_size, size_t capacity);
/* Adds a reference and returns c; drops one. c may be NULL. */
WEFT_API weft_chan *weft_chan_ref(weft_chan *c);
WEFT_API void weft_chan_unref(weft_chan *c);

/* Sends *elem: waits until a receiver or the buffer can take it. Cancellable. May switch.
 *
 * Returns
 *    0           the element was sent
 *   -EPIPE       the channel is closed, or was closed during the wait. Nothing was sent
 *   -EINVAL      elem is NULL and the elements have a size
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. Nothing was sent
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_send(weft_chan *c, const void *elem);
/* Receives an element into *elem, or drops it if elem is NULL: waits until there is one.
 * Cancellable. May switch.
 *
 * Returns
 *    0           an element was received
 *   -EPIPE       the channel is closed and empty. *elem is filled with zeros
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. Nothing was received
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_recv(weft_chan *c, void *elem);
/* The same without waiting: -EAGAIN if the call would have to wait. Not cancellable. */
WEFT_API int weft_chan_try_send(weft_chan *c, const void *elem);
WEFT_API int weft_chan_try_recv(weft_chan *c, void *elem);

/* Closes the channel: later sends fail, and elements in the buffer can still be received.
 *
 * Returns
 *    0           the channel is closed now
 *   -EPIPE       it was closed before
 *   -EINVAL      c is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_close(weft_chan *c);

/* The number of elements in the buffer, which other threads may change at any time, and the
 * capacity. 0 for NULL. */
WEFT_API size_t weft_chan_len(const weft_chan *c);
WEFT_API size_t weft_chan_cap(const weft_chan *c);

/* ---- Select ---------------------------------------------------------------------------------- */

enum {
        WEFT_CASE_NONE = 0,     /* never ready; nor is a case with a NULL channel */
        WEFT_CASE_RECV = 1,
        WEFT_CASE_SEND = 2,
        WEFT_CASE_JOIN = 3,
        WEFT_CASE_AFTER = 4,
        WEFT_CASE_DEFAULT = 5   /* 6 and 7, for descriptors, are in weft/io.h */
};

/* One case of a select, made by the macros below. An array of cases can be used again, changed or
 * not, but not by two calls at the same time. */
typedef struct weft_case {
        uint64_t opaque[12];
        int      result;        /* set for the case that happened: see weft_select */
        int      reserved;
} weft_case;

/* Waits until one of the n cases is ready, performs it and returns its index. If several are ready,
 * one of them is chosen at random, all with equal chance. The choice is made on the state of all
 * channels at one moment. Without cases the call waits for ever. Cancellable, unless there is a
 * WEFT_DEFAULT: then the call does not wait. May switch.
 *
 * Returns
 *   >= 0         the index i of the case that happened. cases[i].result is set:
 *                  send, receive    0, or -EPIPE: the channel is closed
 *                  join             0, -ESRCH or -EDEADLK, as weft_join
 *                  descriptor       poll(2)'s revents or -Exxx, see weft/io.h
 *                  after, default   0
 *                The other cases are not changed
 *   -EINVAL      cases is NULL or contains something else, or a send has no element
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. No case happened
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_select(weft_case *cases, size_t n);

/* WEFT_RECV(c, p)     receive an element into *p, or drop it if p is NULL
 * WEFT_SEND(c, p)     send the element *p
 * WEFT_JOIN(id)       goroutine id has ended
 * WEFT_AFTER(ns)      ns nanoseconds have passed since the call of weft_select. <= 0: ready at once
 * WEFT_READABLE(fd)   descriptor fd is readable: see weft/io.h
 * WEFT_WRITABLE(fd)   descriptor fd is writable
 * WEFT_DEFAULT        no other case is ready */
#define WEFT_RECV(c, p)   weft_case_recv_(c, p)
#define WEFT_SEND(c, p)   weft_case_send_(c, p)
#define WEFT_JOIN(id)     weft_case_number_(WEFT_CASE_JOIN, id)
#define WEFT_AFTER(ns)    weft_case_number_(WEFT_CASE_AFTER, ns)
#define WEFT_DEFAULT      weft_case_number_(WEFT_CASE_DEFAULT, 0)

/* The same as functions, for other languages. */
WEFT_API void weft_case_recv(weft_case *out, weft_chan *c, void *elem);
WEFT_API void weft_case_send(weft_case *out, weft_chan *c, const void *elem);
WEFT_API void weft_case_join(weft_case *out, int64_t id);
WEFT_API void weft_case_after(weft_case *out, int64_t ns);
WEFT_API void weft_case_default(weft_case *out);

static inline weft_case weft_case_number_(uint64_t kind, int64_t number)
{
        weft_case cs = { { kind, (uint64_t)number }, 0, 0 };

        return cs;
}

/* c is a typed or an untyped channel. */
static inline weft_case weft_case_recv_(const void *c, void *elem)
{
        weft_case cs = { { WEFT_CASE_RECV, (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)elem },
                         0, 0 };

        return cs;
}

static inline weft_case weft_case_send_(const void *c, const void *elem)
{
        weft_case cs = { { WEFT_CASE_SEND, (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)elem },
                         0, 0 };

        return cs;
}

#ifdef __cplusplus
}
#endif
#endif
