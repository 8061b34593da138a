/* sched/local.c - goroutine-local storage: keys with destructors, a value per goroutine and key.
 *
 * A goroutine's values are an array that grows with the highest key it has set. Keys are slots with
 * a generation: a key that was freed and given out again does not have the old key's values.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/local.h"

#include "base/lock.h"
#include "sched/sched.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <stdlib.h>     /* values are user data of user size: malloc, off every hot path */

enum {
        N_KEYS = 1024,
        DESTROY_ROUNDS = 4,     /* destructors may set values again, but not for ever */
};

struct key {
        bool     used;
        uint32_t generation;
        void   (*destroy)(void *);
};

struct value {
        uint32_t generation;
        void    *pointer;
};

static struct lock keys_lock = W_LOCK_INIT(keys);
static struct key  keys[N_KEYS];        /* keys_lock; generations survive runs */

/* The id of a key: its slot and the generation of the slot. */
static unsigned key_id(uint32_t slot, uint32_t generation)
{
        return generation * N_KEYS + slot;
}

W_EXPORT int weft_key_new(weft_key *key, void (*destroy)(void *))
{
        int rc = -EAGAIN;

        if (!key)
                return -EINVAL;
        W_ENTER();
        w_lock(&keys_lock);
        for (uint32_t i = 0; i < N_KEYS; i++) {
                if (keys[i].used)
                        continue;
                keys[i].used = true;
                keys[i].destroy = destroy;
                key->id = key_id(i, keys[i].generation);
                rc = 0;
                break;
        }
        w_unlock(&keys_lock);
        W_LEAVE();
        return rc;
}

static struct key *find_locked(weft_key key)
{
        struct key *k = &keys[key.id % N_KEYS];

        return k->used && k->generation == key.id / N_KEYS ? k : NULL;
}

W_EXPORT void weft_key_free(weft_key key)
{
        W_ENTER();
        w_lock(&keys_lock);
        struct key *k = find_locked(key);

        if (k) {
                k->used = false;
                k->generation = (k->generation + 1) % (UINT32_MAX / N_KEYS);
        }
        w_unlock(&keys_lock);
        W_LEAVE();
}

static bool is_valid(weft_key key)
{
        w_lock(&keys_lock);
        bool valid = find_locked(key) != NULL;

        w_unlock(&keys_lock);
        return valid;
}

static int grow(struct g_cold *own, uint32_t n)
{
        struct value *grown = realloc(own->locals, n * sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        for (size_t i = own->locals ? own->n_locals : 0; i < n; i++)
                grown[i] = (struct value){ 0, NULL };
        own->locals = grown;
        own->n_locals = n;
        return 0;
}

/* The slot of a value of gp. NULL: gp has not set a key so high. */
static struct value *slot_of(const struct g *gp, weft_key key)
{
        struct g_cold *own = w_g_cold(gp);
        uint32_t       slot = key.id % N_KEYS;

        return own->locals && slot < own->n_locals ? &own->locals[slot] : NULL;
}

static int set(struct g *gp, weft_key key, void *value)
{
        if (!gp)
                return -EPERM;
        if (!is_valid(key))
                return -EINVAL;
        if (!slot_of(gp, key)) {
                int rc = grow(w_g_cold(gp), key.id % N_KEYS + 1);

                if (rc < 0)
                        return rc;
        }
        *slot_of(gp, key) = (struct value){ key.id / N_KEYS, value };
        return 0;
}

W_EXPORT int weft_local_set(weft_key key, void *value)
{
        W_ENTER();
        int rc = set(w_g(), key, value);

        W_LEAVE();
        return rc;
}

W_EXPORT void *weft_local_get(weft_key key)
{
        W_ENTER();
        struct g           *gp = w_g();
        const struct value *v = gp ? slot_of(gp, key) : NULL;
        void               *value = v && v->generation == key.id / N_KEYS ? v->pointer : NULL;

        W_LEAVE();
        return value;
}

/* The destructor of a value whose key still exists, or NULL. */
static void (*destructor_of(uint32_t slot, uint32_t generation))(void *)
{
        w_lock(&keys_lock);
        struct key *k = &keys[slot];
        void      (*destroy)(void *) =
                k->used && k->generation == generation ? k->destroy : NULL;

        w_unlock(&keys_lock);
        return destroy;
}

/* Runs each destructor once. They are user code, so m.where says so meanwhile. */
static bool destroy_once(struct g_cold *own)
{
        bool any = false;

        for (uint32_t i = 0; i < own->n_locals; i++) {
                struct value v = own->locals[i];
                void       (*destroy)(void *) = destructor_of(i, v.generation);

                own->locals[i].pointer = NULL;
                if (!v.pointer || !destroy)
                        continue;
                w_leave(0);
                destroy(v.pointer);
                (void)w_enter();
                any = true;
        }
        return any;
}

void w_locals_drop(struct g *gp)
{
        free(w_g_cold(gp)->locals);
        w_g_cold(gp)->locals = NULL;
}

void w_locals_destroy(struct g *gp)
{
        for (int round = 0; round < DESTROY_ROUNDS && destroy_once(w_g_cold(gp)); round++)
                ;
        w_locals_drop(gp);
}
