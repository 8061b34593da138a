/* base/list.h - intrusive lists: a doubly linked ring and a singly linked queue.
 *
 * Neither allocates, and neither is thread-safe; the struct that holds the head says which lock or
 * owner protects the list.
 *
 *   struct list_node   ring with a head: O(1) insertion and unlinking from anywhere
 *   struct queue       FIFO through one link, with a count: batches move in O(1)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_LIST_H
#define W_BASE_LIST_H

#include "base/assert.h"

#include <stdbool.h>

struct list_node {
        struct list_node *next, *prev;  /* a node that is on no list points to itself */
};

static inline void w_list_init(struct list_node *n)
{
        n->next = n->prev = n;
}

static inline bool w_list_empty(const struct list_node *head)
{
        return head->next == head;
}

static inline void w_list_insert_before(struct list_node *at, struct list_node *n)
{
        W_ASSERT(n->next == n);
        n->next = at;
        n->prev = at->prev;
        at->prev->next = n;
        at->prev = n;
}

static inline void w_list_push_back(struct list_node *head, struct list_node *n)
{
        w_list_insert_before(head, n);
}

static inline void w_list_push_front(struct list_node *head, struct list_node *n)
{
        w_list_insert_before(head->next, n);
}

/* Harmless on a node that is on no list. */
static inline void w_list_unlink(struct list_node *n)
{
        n->prev->next = n->next;
        n->next->prev = n->prev;
        w_list_init(n);
}

static inline struct list_node *w_list_first(struct list_node *head)
{
        return w_list_empty(head) ? NULL : head->next;
}

static inline struct list_node *w_list_pop_front(struct list_node *head)
{
        struct list_node *n = w_list_first(head);

        if (n)
                w_list_unlink(n);
        return n;
}

/* The body may unlink the current node. */
#define W_LIST_EACH(n, head)                                                                    \
        for (struct list_node *(n) = (head)->next, *w_next_ = (n)->next; (n) != (head);         \
             (n) = w_next_, w_next_ = (n)->next)

struct queue_node {
        struct queue_node *next;
};

struct queue {
        struct queue_node *head, *tail;
        uint32_t           n;
};

static inline void w_queue_push(struct queue *q, struct queue_node *n)
{
        n->next = NULL;
        if (q->tail)
                q->tail->next = n;
        else
                q->head = n;
        q->tail = n;
        q->n++;
}

static inline void w_queue_push_front(struct queue *q, struct queue_node *n)
{
        n->next = q->head;
        q->head = n;
        if (!q->tail)
                q->tail = n;
        q->n++;
}

static inline struct queue_node *w_queue_pop(struct queue *q)
{
        struct queue_node *n = q->head;

        if (!n)
                return NULL;
        q->head = n->next;
        if (!q->head)
                q->tail = NULL;
        q->n--;
        return n;
}

/* Moves the first n nodes of `from`, or all if there are fewer, to the front of `to`. */
static inline void w_queue_move_front(struct queue *to, struct queue *from, uint32_t n)
{
        if (n > from->n)
                n = from->n;
        if (n == 0)
                return;
        struct queue_node *first = from->head, *last = first;

        for (uint32_t i = 1; i < n; i++)
                last = last->next;
        from->head = last->next;
        if (!from->head)
                from->tail = NULL;
        from->n -= n;
        last->next = to->head;
        to->head = first;
        if (!to->tail)
                to->tail = last;
        to->n += n;
}

/* Moves all nodes of `from` to the end of `to` and leaves `from` empty. */
static inline void w_queue_append(struct queue *to, struct queue *from)
{
        if (!from->head)
                return;
        if (to->tail)
                to->tail->next = from->head;
        else
                to->head = from->head;
        to->tail = from->tail;
        to->n += from->n;
        *from = (struct queue){ 0 };
}

#endif
