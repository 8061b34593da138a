/* weft/typed.h - channels with an element type. Included by weft.h only.
 *
 *   WEFT_CHAN(int) c = weft_make(int, 16);        as weft_chan_new, with 16 as the capacity
 *   weft_send(c, 42); weft_recv(c, &v);           as weft_chan_send and weft_chan_recv
 *   weft_try_send(c, 42); weft_try_recv(c, &v);   as weft_chan_try_send and weft_chan_try_recv
 *   weft_chan_close(c); weft_chan_unref(c);       as for any channel; also ref, len and cap
 *   weft_untyped(c)                               c as a weft_chan *
 *
 * The results are those of the calls that are named here. The compiler checks the type of the
 * elements. WEFT_CHAN(int) is the same type wherever it is written, and is not the same type as
 * WEFT_CHAN(long). A WEFT_CHAN is a pointer. The program must not dereference it. Elements are
 * copied as by memcpy. Each argument of these macros is evaluated once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_TYPED_H
#define WEFT_TYPED_H

struct weft_chan_tag;
#define WEFT_CHAN(...)      __typeof__(__typeof__(__VA_ARGS__) (**)(struct weft_chan_tag *))
#define weft_make(T, cap)   ((WEFT_CHAN(T))(void *)weft_chan_new(sizeof(T), (cap)))
#define weft_untyped(c)     ((weft_chan *)(void *)(c))

#ifdef __cplusplus

template <typename T> struct weft_elem { typedef T type; };

template <typename T>
inline int weft_send(T (**c)(struct weft_chan_tag *), const typename weft_elem<T>::type &value)
{
        static_assert(__is_trivially_copyable(T), "elements of channels are copied as bytes");
        return weft_chan_send(weft_untyped(c), &value);
}

template <typename T>
inline int weft_try_send(T (**c)(struct weft_chan_tag *), const typename weft_elem<T>::type &value)
{
        static_assert(__is_trivially_copyable(T), "elements of channels are copied as bytes");
        return weft_chan_try_send(weft_untyped(c), &value);
}

template <typename T>
inline int weft_recv(T (**c)(struct weft_chan_tag *), typename weft_elem<T>::type *value)
{
        return weft_chan_recv(weft_untyped(c), value);
}

template <typename T>
inline int weft_try_recv(T (**c)(struct weft_chan_tag *), typename weft_elem<T>::type *value)
{
        return weft_chan_try_recv(weft_untyped(c), value);
}

template <typename T> inline T (**weft_chan_ref(T (**c)(weft_chan_tag *)))(weft_chan_tag *)
{
        (void)weft_chan_ref(weft_untyped(c));
        return c;
}

template <typename T> inline void weft_chan_unref(T (**c)(struct weft_chan_tag *))
{
        weft_chan_unref(weft_untyped(c));
}

template <typename T> inline int weft_chan_close(T (**c)(struct weft_chan_tag *))
{
        return weft_chan_close(weft_untyped(c));
}

template <typename T> inline size_t weft_chan_len(T (**c)(struct weft_chan_tag *))
{
        return weft_chan_len(weft_untyped(c));
}

template <typename T> inline size_t weft_chan_cap(T (**c)(struct weft_chan_tag *))
{
        return weft_chan_cap(weft_untyped(c));
}

#else

#define weft_chan_ref(c)    ((__typeof__(c))(void *)weft_chan_ref(weft_untyped(c)))
#define weft_chan_unref(c)  weft_chan_unref(weft_untyped(c))
#define weft_chan_close(c)  weft_chan_close(weft_untyped(c))
#define weft_chan_len(c)    weft_chan_len(weft_untyped(c))
#define weft_chan_cap(c)    weft_chan_cap(weft_untyped(c))

#define weft_send(c, ...)                                                                       \
        weft_chan_send(weft_untyped(c), WEFT_SENT_(c, __VA_ARGS__))
#define weft_try_send(c, ...)                                                                   \
        weft_chan_try_send(weft_untyped(c), WEFT_SENT_(c, __VA_ARGS__))
#define weft_recv(c, p)     weft_chan_recv(weft_untyped(c), WEFT_PLACE_(c, p))
#define weft_try_recv(c, p) weft_chan_try_recv(weft_untyped(c), WEFT_PLACE_(c, p))

/* The type of an element: the type that the function behind the pointer would return. */
#define WEFT_ELEM_(c)       __typeof__((*(c))((struct weft_chan_tag *)0))

/* p, which must be a pointer to an element or a void pointer. Any other p is a compile error. */
#define WEFT_PLACE_(c, p)   _Generic((p), WEFT_ELEM_(c) *: (p), void *: (p))

/* A temporary element with that value. An initialiser alone would accept too much: a number for the
 * first member of a struct, a pointer for a number. Therefore value and element must both be
 * numbers, must both be pointers, or must have the same type. The compiler then checks pointers
 * further. */
#define WEFT_SENT_(c, ...)                                                                      \
        ((void)sizeof(struct {                                                                  \
                 _Static_assert(WEFT_FITS_(WEFT_ELEM_(c), (*(c))((struct weft_chan_tag *)0),    \
                                           ((void)0, __VA_ARGS__)),                             \
                                "the value has not the type of the channel's elements");        \
                 int dummy;                                                                     \
         }),                                                                                    \
         (WEFT_ELEM_(c)[1]){ __VA_ARGS__ })
#define WEFT_FITS_(T, elem, value)                                                              \
        (__builtin_types_compatible_p(T, __typeof__(value)) ||                                  \
         (WEFT_IS_NUMBER_(elem) && WEFT_IS_NUMBER_(value)) ||                                   \
         (WEFT_CLASS_(elem) == 5 && WEFT_CLASS_(value) == 5))

/* The classes of __builtin_classify_type: below 5 integers, 5 pointers, 8 real and 9 complex
 * numbers. */
#define WEFT_CLASS_(x)      __builtin_classify_type(x)
#define WEFT_IS_NUMBER_(x)  (WEFT_CLASS_(x) < 5 || WEFT_CLASS_(x) == 8 || WEFT_CLASS_(x) == 9)

#endif

#endif
