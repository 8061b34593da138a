/* base/atomic_hooks.h - atomics that ask an engine: the back end of simulator and explorer.
 *
 * Included by base/atomic.h only, under W_HOOKED. Each access names its site, so that a replayed
 * run prints the expression, file and line in place of an address. The engine that is linked in
 * (os/sim or os/explore) decides which thread runs next and which value a load returns.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_ATOMIC_HOOKS_H
#define W_BASE_ATOMIC_HOOKS_H

enum w_order { W_RLX, W_ACQ, W_REL, W_ACQREL, W_SC };
enum w_rmw_op { W_RMW_XCHG, W_RMW_ADD, W_RMW_SUB, W_RMW_OR, W_RMW_AND };

struct w_site {
        const char *expr;       /* the object as the source names it */
        const char *file;
        int         line;
};

/* Sizes are 1, 2, 4 or 8. Values are passed zero-extended. */
uint64_t w_hook_load(const void *addr, unsigned size, enum w_order order,
                     const struct w_site *site);
void     w_hook_store(void *addr, unsigned size, uint64_t value, enum w_order order,
                      const struct w_site *site);
uint64_t w_hook_rmw(void *addr, unsigned size, enum w_rmw_op op, uint64_t operand,
                    enum w_order order, const struct w_site *site);
/* On failure *expected receives the value found, read with the acquire half of `order`. */
bool     w_hook_cas(void *addr, unsigned size, uint64_t *expected, uint64_t desired,
                    enum w_order order, const struct w_site *site);
void     w_hook_fence(const struct w_site *site);
/* Ordinary memory: engines may check for races; they never change the value. */
void     w_hook_plain(const void *addr, unsigned size, bool is_write, const struct w_site *site);

#define W_SITE_(text) __extension__({                                                           \
        static const struct w_site w_site_ = { (text), __FILE__, __LINE__ };                    \
        &w_site_; })
#define W_SITE_OF_(p)   W_SITE_(#p)
#define W_TYPE_(p)      __typeof__((p)->raw)
#define W_BITS_(p, v)   ((uint64_t)(uintptr_t)(W_TYPE_(p))(v))

#define W_LOAD_(p, o)   ((W_TYPE_(p))(uintptr_t)w_hook_load(&(p)->raw, sizeof((p)->raw), o,     \
                                                            W_SITE_OF_(p)))
#define W_STORE_(p, v, o) w_hook_store(&(p)->raw, sizeof((p)->raw), W_BITS_(p, v), o,           \
                                       W_SITE_OF_(p))
/* A statement expression, because callers often do not use the old value. */
#define W_RMW_(p, op, v, o) __extension__({                                                     \
        uint64_t w_before_ = w_hook_rmw(&(p)->raw, sizeof((p)->raw), op, W_BITS_(p, v), o,      \
                                        W_SITE_OF_(p));                                         \
        (W_TYPE_(p))(uintptr_t)w_before_; })
#define W_CAS_(p, e, v, o) __extension__({                                                      \
        uint64_t w_seen_ = W_BITS_(p, *(e));                                                    \
        bool w_ok_ = w_hook_cas(&(p)->raw, sizeof((p)->raw), &w_seen_, W_BITS_(p, v), o,        \
                                W_SITE_OF_(p));                                                 \
        *(e) = (W_TYPE_(p))(uintptr_t)w_seen_;                                                  \
        w_ok_; })

#define w_load_rlx(p)           W_LOAD_(p, W_RLX)
#define w_load_acq(p)           W_LOAD_(p, W_ACQ)
#define w_store_rlx(p, v)       W_STORE_(p, v, W_RLX)
#define w_store_rel(p, v)       W_STORE_(p, v, W_REL)
#define w_xchg_rlx(p, v)        W_RMW_(p, W_RMW_XCHG, v, W_RLX)
#define w_xchg_acq(p, v)        W_RMW_(p, W_RMW_XCHG, v, W_ACQ)
#define w_xchg_rel(p, v)        W_RMW_(p, W_RMW_XCHG, v, W_REL)
#define w_xchg_acqrel(p, v)     W_RMW_(p, W_RMW_XCHG, v, W_ACQREL)
#define w_cas_rlx(p, e, v)      W_CAS_(p, e, v, W_RLX)
#define w_cas_acq(p, e, v)      W_CAS_(p, e, v, W_ACQ)
#define w_cas_rel(p, e, v)      W_CAS_(p, e, v, W_REL)
#define w_cas_acqrel(p, e, v)   W_CAS_(p, e, v, W_ACQREL)
#define w_add_rlx(p, v)         W_RMW_(p, W_RMW_ADD, v, W_RLX)
#define w_add_rel(p, v)         W_RMW_(p, W_RMW_ADD, v, W_REL)
#define w_add_acqrel(p, v)      W_RMW_(p, W_RMW_ADD, v, W_ACQREL)
#define w_sub_rlx(p, v)         W_RMW_(p, W_RMW_SUB, v, W_RLX)
#define w_sub_rel(p, v)         W_RMW_(p, W_RMW_SUB, v, W_REL)
#define w_sub_acqrel(p, v)      W_RMW_(p, W_RMW_SUB, v, W_ACQREL)
#define w_or_rlx(p, v)          W_RMW_(p, W_RMW_OR, v, W_RLX)
#define w_or_acqrel(p, v)       W_RMW_(p, W_RMW_OR, v, W_ACQREL)
#define w_and_rlx(p, v)         W_RMW_(p, W_RMW_AND, v, W_RLX)
#define w_and_acqrel(p, v)      W_RMW_(p, W_RMW_AND, v, W_ACQREL)
#define w_fence_full()          w_hook_fence(W_SITE_("full fence"))

#define w_plain_load(p) __extension__({                                                         \
        w_hook_plain((p), sizeof(*(p)), false, W_SITE_OF_(p));                                  \
        *(p); })
#define w_plain_store(p, v) __extension__({                                                     \
        w_hook_plain((p), sizeof(*(p)), true, W_SITE_OF_(p));                                   \
        *(p) = (v);                                                                             \
        (void)0; })

#endif
