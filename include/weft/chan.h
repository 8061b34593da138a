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
 * A channel carries elements of a fixed size from senders to receivers, in order. If several
 * senders wait, the order of their calls counts. The same is true of receivers. A NULL channel is
 * never ready: a send or a receive waits until a scope or the end of the run ends the call.
 *
 * A channel counts its references. The caller must hold a reference to the channel during the whole
 * call. The channel is freed when the last reference is dropped, or at the end of the run. No call
 * may use the channel after that. */
typedef struct weft_chan weft_chan;

/* Makes a channel for elements of elem_size bytes. If elem_size is 0, the elements carry no data.
 * The buffer holds `capacity` elements. If capacity is 0, there is no buffer, and a sender waits
 * for its receiver.
 *
 * Returns
 *   a channel    the caller has one reference to it
 *   NULL         no memory, the sizes overflow, or no runtime runs */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_chan_new(size_t elem_size, size_t capacity);
/* Adds a reference. Always returns c. c may be NULL. */
WEFT_API weft_chan *weft_chan_ref(weft_chan *c);
/* Drops a reference. c may be NULL. It is fatal to drop the last reference while a call waits. */
WEFT_API void weft_chan_unref(weft_chan *c);

/* Sends a copy of *elem. Waits until a receiver or the buffer can take the element. Cancellable.
 * May switch.
 *
 * Returns
 *    0           the element was sent
 *   -EPIPE       the channel is closed, or was closed during the wait. Nothing was sent
 *   -EINVAL      elem is NULL, and the size of the elements is not 0
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. Nothing was sent
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_send(weft_chan *c, const void *elem);
/* Receives an element into *elem. If elem is NULL, the element is dropped. Waits until there is an
 * element. Cancellable. May switch.
 *
 * Returns
 *    0           an element was received
 *   -EPIPE       the channel is closed, and no element is left. *elem is filled with zeros
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. Nothing was received
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_recv(weft_chan *c, void *elem);
/* As weft_chan_send and weft_chan_recv, but without waiting. Not cancellable.
 *
 * Returns
 *    0, -EPIPE, -ESHUTDOWN   as weft_chan_send and weft_chan_recv
 *   -EAGAIN      the call would have to wait, or c is NULL. Nothing was sent or received
 *   -EINVAL      weft_chan_try_send: elem is NULL, and the size of the elements is not 0 */
WEFT_API int weft_chan_try_send(weft_chan *c, const void *elem);
WEFT_API int weft_chan_try_recv(weft_chan *c, void *elem);

/* Closes the channel. Sends that wait, and later sends, return -EPIPE. Elements in the buffer can
 * still be received. Receives that wait return -EPIPE. The caller keeps its reference.
 *
 * Returns
 *    0           the channel is closed now
 *   -EPIPE       the channel was closed before
 *   -EINVAL      c is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_chan_close(weft_chan *c);

/* Returns the number of elements in the buffer. Other threads may change it at any time. Returns 0
 * if c is NULL or no runtime runs. */
WEFT_API size_t weft_chan_len(const weft_chan *c);
/* Returns the capacity. Returns 0 if c is NULL or no runtime runs. */
WEFT_API size_t weft_chan_cap(const weft_chan *c);

/* ---- Select ---------------------------------------------------------------------------------- */

enum {
        WEFT_CASE_NONE = 0,     /* never ready */
        WEFT_CASE_RECV = 1,
        WEFT_CASE_SEND = 2,
        WEFT_CASE_JOIN = 3,
        WEFT_CASE_AFTER = 4,
        WEFT_CASE_DEFAULT = 5   /* 6 and 7, for descriptors, are in weft/io.h */
};

/* One case of a select. The macros below make it. A program may use an array of cases for several
 * calls, and may change cases between the calls. Two calls must not use it at the same time. */
typedef struct weft_case {
        uint64_t opaque[12];
        int      result;        /* set in the case that happened: see weft_select */
        int      reserved;      /* 0 */
} weft_case;

/* Waits until at least one of the n cases is ready, and performs exactly one case. If several cases
 * are ready, each of them has the same chance. The choice is made on the state of all channels at
 * one moment. If n is 0, the call waits until a scope or the end of the run ends it.
 *
 * If a WEFT_DEFAULT is among the cases, the call does not wait and is not cancellable. Otherwise it
 * is cancellable. May switch.
 *
 * Returns
 *   >= 0         the index i of the case that happened. cases[i].result is set:
 *                  send, receive    0. -EPIPE if the channel is closed
 *                  join             0, -ESRCH or -EDEADLK, as weft_join
 *                  descriptor       poll(2)'s revents or -Exxx, see weft/io.h
 *                  after, default   0
 *                The results of the other cases are not changed
 *   -EINVAL      cases is NULL and n is not 0; n is too large for an int; a case is not one of the
 *                cases below; or a send has no element
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. No case happened
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_select(weft_case *cases, size_t n);

/* WEFT_RECV(c, p)     receive an element into *p, or drop it if p is NULL
 * WEFT_SEND(c, p)     send the element *p
 * WEFT_JOIN(id)       goroutine id has ended
 * WEFT_AFTER(ns)      ns nanoseconds have passed since the call of weft_select. If ns is 0 or
 *                     negative, the case is ready at once. Without memory for a timer it is ready
 *                     too early
 * WEFT_READABLE(fd)   descriptor fd is readable: see weft/io.h
 * WEFT_WRITABLE(fd)   descriptor fd is writable
 * WEFT_DEFAULT        no other case is ready. If there are several, the first one counts
 *
 * c is a typed or an untyped channel. If c is NULL, the case is never ready. *p must exist until
 * weft_select returns. */
#define WEFT_RECV(c, p)   weft_case_recv_(c, p)
#define WEFT_SEND(c, p)   weft_case_send_(c, p)
#define WEFT_JOIN(id)     weft_case_number_(WEFT_CASE_JOIN, id)
#define WEFT_AFTER(ns)    weft_case_number_(WEFT_CASE_AFTER, ns)
#define WEFT_DEFAULT      weft_case_number_(WEFT_CASE_DEFAULT, 0)

/* Functions that store these cases in *out, for other languages. */
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
