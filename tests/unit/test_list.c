/* Intrusive lists: order, unlinking from anywhere, batches. */
#include "base/list.h"

#include "harness/test.h"

struct item {
        int               value;
        struct list_node  link;
        struct queue_node qlink;
};

static int first_value(struct list_node *head)
{
        return W_CONTAINER_OF(w_list_first(head), struct item, link)->value;
}

TEST(list_keeps_the_order_of_pushes)
{
        struct list_node head;
        struct item      items[5];

        w_list_init(&head);
        CHECK(w_list_empty(&head));
        for (int i = 0; i < 5; i++) {
                items[i].value = i;
                w_list_init(&items[i].link);
                w_list_push_back(&head, &items[i].link);
        }
        for (int i = 0; i < 5; i++)
                CHECK_EQ(W_CONTAINER_OF(w_list_pop_front(&head), struct item, link)->value, i);
        CHECK(w_list_pop_front(&head) == NULL);
}

TEST(list_push_front_goes_first)
{
        struct list_node head;
        struct item      a = { .value = 1 }, b = { .value = 2 };

        w_list_init(&head);
        w_list_init(&a.link);
        w_list_init(&b.link);
        w_list_push_back(&head, &a.link);
        w_list_push_front(&head, &b.link);
        CHECK_EQ(first_value(&head), 2);
}

TEST(list_unlink_works_anywhere_and_twice)
{
        struct list_node head;
        struct item      items[3];

        w_list_init(&head);
        for (int i = 0; i < 3; i++) {
                items[i].value = i;
                w_list_init(&items[i].link);
                w_list_push_back(&head, &items[i].link);
        }
        w_list_unlink(&items[1].link);
        w_list_unlink(&items[1].link);
        CHECK_EQ(first_value(&head), 0);
        CHECK(head.next->next == &items[2].link && head.prev == &items[2].link);
        w_list_unlink(&items[0].link);
        w_list_unlink(&items[2].link);
        CHECK(w_list_empty(&head));
}

TEST(list_each_survives_unlinking_the_current_node)
{
        struct list_node head;
        struct item      items[6];
        int              sum = 0;

        w_list_init(&head);
        for (int i = 0; i < 6; i++) {
                items[i].value = i;
                w_list_init(&items[i].link);
                w_list_push_back(&head, &items[i].link);
        }
        W_LIST_EACH(n, &head) {
                sum += W_CONTAINER_OF(n, struct item, link)->value;
                w_list_unlink(n);
        }
        CHECK_EQ(sum, 15);
        CHECK(w_list_empty(&head));
}

TEST(queue_is_fifo_and_counts)
{
        struct queue q = { 0 };
        struct item  items[4];

        CHECK(w_queue_pop(&q) == NULL);
        for (int i = 0; i < 4; i++) {
                items[i].value = i;
                w_queue_push(&q, &items[i].qlink);
                CHECK_EQ(q.n, i + 1);
        }
        for (int i = 0; i < 4; i++)
                CHECK_EQ(W_CONTAINER_OF(w_queue_pop(&q), struct item, qlink)->value, i);
        CHECK_EQ(q.n, 0);
        CHECK(q.head == NULL && q.tail == NULL);
}

TEST(queue_push_front_into_empty_sets_the_tail)
{
        struct queue q = { 0 };
        struct item  a = { .value = 1 }, b = { .value = 2 };

        w_queue_push_front(&q, &a.qlink);
        w_queue_push(&q, &b.qlink);
        CHECK(w_queue_pop(&q) == &a.qlink);
        CHECK(w_queue_pop(&q) == &b.qlink);
}

TEST(queue_append_moves_all_and_empties_the_source)
{
        struct queue to = { 0 }, from = { 0 };
        struct item  items[4];

        w_queue_append(&to, &from);
        CHECK_EQ(to.n, 0);
        for (int i = 0; i < 4; i++)
                w_queue_push(i < 2 ? &to : &from, &items[i].qlink);
        w_queue_append(&to, &from);
        CHECK_EQ(to.n, 4);
        CHECK_EQ(from.n, 0);
        for (int i = 0; i < 4; i++)
                CHECK(w_queue_pop(&to) == &items[i].qlink);
}
