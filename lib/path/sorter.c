/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/sorter.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/seq.h"

int sorter_init(struct sorter *s, uint32_t packets, uint64_t span_cycles, struct store *store)
{
    memset(s, 0, sizeof *s);
    s->store = store;
    s->nodes = rte_malloc("path sorter", packets * sizeof *s->nodes, 64);
    s->heap = rte_malloc("path sorter", packets * sizeof *s->heap, 64);
    if (s->nodes == NULL || s->heap == NULL) {
        sorter_fini(s);
        return -ENOMEM;
    }
    s->capacity = packets;
    s->free = s->far = SORTER_NONE;
    s->far_bucket = UINT64_MAX;
    while (s->shift < 48 && (uint64_t)SORTER_BUCKETS / 2 << s->shift < span_cycles)
        s->shift++;
    memset(s->head, 0xff, sizeof s->head); /* makes each head SORTER_NONE */
    return 0;
}

void sorter_fini(struct sorter *s)
{
    struct path_packet p;
    bool overtaken;

    while (s->nodes != NULL && sorter_pop(s, UINT64_MAX, &p, &overtaken))
        store_free(s->store, p.m, p.len);
    rte_free(s->nodes);
    rte_free(s->heap);
    s->nodes = NULL;
    s->heap = NULL;
}

static bool before(const struct sorter *s, uint32_t a, uint32_t b)
{
    const struct sorter_node *x = &s->nodes[a], *y = &s->nodes[b];

    if (x->p.at != y->p.at)
        return x->p.at < y->p.at;
    if (s->by_seq && x->p.seq != y->p.seq)
        return seq32_before(x->p.seq, y->p.seq);
    return x->order < y->order;
}

static void heap_push(struct sorter *s, uint32_t node)
{
    uint32_t i = s->heaped++;

    for (; i > 0 && before(s, node, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = node;
}

static uint32_t heap_pop(struct sorter *s)
{
    uint32_t top = s->heap[0], last = s->heap[--s->heaped], i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= s->heaped)
            break;
        if (child + 1 < s->heaped && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void place(struct sorter *s, uint32_t node)
{
    uint64_t bucket = s->nodes[node].p.at >> s->shift;
    uint32_t slot;

    if (bucket <= s->current) {
        heap_push(s, node);
        return;
    }
    if (bucket - s->current >= SORTER_BUCKETS) {
        s->nodes[node].next = s->far;
        s->far = node;
        s->far_bucket = RTE_MIN(s->far_bucket, bucket);
        return;
    }
    slot = bucket % SORTER_BUCKETS;
    s->nodes[node].next = s->head[slot];
    s->head[slot] = node;
    s->bitmap[slot / 64] |= 1ull << slot % 64;
}

void sorter_push(struct sorter *s, const struct path_packet *p)
{
    uint32_t node = s->free;

    if (node != SORTER_NONE) {
        s->free = s->nodes[node].next;
    } else {
        CHECK(s->fresh < s->capacity);
        node = s->fresh++;
    }
    packet_copy(&s->nodes[node].p, p);
    if (s->count > FIFO_WARM && !store_has(p->m))
        s->nodes[node].p.m = store_put(s->store, p->m, p->len);
    s->nodes[node].order = s->order++;
    if (s->count++ == 0)
        s->current = p->at >> s->shift;
    place(s, node);
}

/* The first bucket after the current one that has packets, of those in `far`, too; there must be
 * one. */
static uint64_t bucket_next(const struct sorter *s)
{
    uint32_t start = (uint32_t)((s->current + 1) % SORTER_BUCKETS), word = start / 64;
    uint64_t bits = s->bitmap[word] & ~0ull << start % 64;

    for (uint32_t i = 0; i <= SORTER_BUCKETS / 64; i++) {
        if (bits != 0) {
            uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);

            return RTE_MIN(s->far_bucket, s->current + 1 + (slot - start) % SORTER_BUCKETS);
        }
        word = (word + 1) % (SORTER_BUCKETS / 64);
        bits = s->bitmap[word];
    }
    CHECK(s->far != SORTER_NONE);
    return s->far_bucket;
}

uint64_t sorter_next(const struct sorter *s)
{
    if (s->heaped > 0)
        return s->nodes[s->heap[0]].p.at;
    return s->count > 0 ? bucket_next(s) << s->shift : TIME_NEVER;
}

/* Places the packets of a list. */
static void list_place(struct sorter *s, uint32_t node)
{
    while (node != SORTER_NONE) {
        uint32_t next = s->nodes[node].next;

        place(s, node);
        node = next;
    }
}

/* Turns to a bucket, which is later than the current one and has packets. */
static void bucket_open(struct sorter *s, uint64_t bucket)
{
    uint32_t slot = bucket % SORTER_BUCKETS, list = s->head[slot], far = s->far;

    s->current = bucket;
    s->head[slot] = SORTER_NONE;
    s->bitmap[slot / 64] &= ~(1ull << slot % 64);
    list_place(s, list);
    if (bucket < s->far_bucket)
        return;
    s->far = SORTER_NONE;
    s->far_bucket = UINT64_MAX;
    list_place(s, far);
}

bool sorter_pop(struct sorter *s, uint64_t until, struct path_packet *p, bool *overtaken)
{
    uint32_t node;

    while (s->heaped == 0) {
        uint64_t bucket;

        if (s->count == 0)
            return false;
        bucket = bucket_next(s);
        if (bucket << s->shift > until)
            return false;
        bucket_open(s, bucket);
    }
    CHECK(s->heap != NULL);
    if (s->nodes[s->heap[0]].p.at > until)
        return false;
    node = heap_pop(s);
    packet_copy(p, &s->nodes[node].p);
    *overtaken = s->nodes[node].order < s->order_max;
    if (!*overtaken)
        s->order_max = s->nodes[node].order + 1;
    s->nodes[node].next = s->free;
    s->free = node;
    s->count--;
    return true;
}
