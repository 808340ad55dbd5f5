/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After Eiffel (NSDI 2019): a queue of flows that are ranked by their next release time. Flows wait
 * in buckets, and a tree of bitmaps over the buckets finds the first one in use. The queue has two
 * such halves. While one is served, the other takes flows that are due after it; then they change
 * places.
 *
 * Invariant: the half that is served has buckets base .. base + buckets - 1, and the other one has
 * those that follow. Bucket b holds flows with due <= b * width, in order of arrival, and is served
 * when now >= b * width, so no packet leaves early. All buckets before `first` are empty, and an
 * overdue flow goes into `first`. A bit of a bitmap is set where the word or bucket below it is in
 * use.
 *
 * Made for speed in the same ways as pace_carousel.c.
 */
#include <rte_prefetch.h>

#include "pace_flow.h"

#define LEVELS 4 /* 64^4 buckets at most */

struct half {
    uint64_t *bits[LEVELS]; /* bits[0]: of the buckets */
    uint32_t *last;         /* bucket -> its last link, its own if it is empty */
    uint32_t link;          /* of bucket 0 */
};

struct eiffel {
    uint64_t start_tsc;
    uint64_t base;
    uint32_t buckets, shift;
    uint32_t served;           /* the half that is served */
    uint32_t first;            /* first bucket of it that may be in use */
    uint32_t top;              /* highest level in use */
    uint32_t found;            /* entries of find */
    uint32_t chain, chain_end; /* links: the rest of the bucket that is being emptied */
    struct half halves[2];
    uint32_t *next; /* link -> the next: those of both halves, then those of flows */
    struct pace_flow *flows;
    size_t bytes;
    uint32_t find[PACE_BURST];
};

static void destroy(void *engine)
{
    struct eiffel *e = engine;

    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t l = 0; l < LEVELS; l++)
            rte_free(e->halves[i].bits[l]);
        rte_free(e->halves[i].last);
    }
    rte_free(e->next);
    rte_free(e->flows);
    rte_free(e);
}

static bool half_create(struct eiffel *e, struct half *h, uint32_t link)
{
    uint32_t words = e->buckets;

    h->link = link;
    h->last = pace_memory(e->buckets * sizeof *h->last);
    if (h->last == NULL)
        return false;
    for (uint32_t i = 0; i < e->buckets; i++)
        h->last[i] = link + i;
    e->bytes += 2 * e->buckets * sizeof *h->last;
    for (uint32_t l = 0; l <= e->top; l++) {
        words = (words + 63) / 64;
        h->bits[l] = pace_memory(words * sizeof(uint64_t));
        if (h->bits[l] == NULL)
            return false;
        e->bytes += words * sizeof(uint64_t);
    }
    return true;
}

static void *create(const struct pace_load *load)
{
    struct eiffel *e = pace_memory(sizeof *e);
    struct pace_slots slots = pace_slots_for(load);

    if (e == NULL)
        return NULL;
    e->start_tsc = load->start_tsc;
    e->shift = slots.shift;
    e->buckets = (uint32_t)slots.count;
    e->chain = PACE_NONE;
    while (e->buckets > 64ull << (6 * e->top))
        e->top++;
    e->next = pace_memory((2 * e->buckets + load->flows) * sizeof *e->next);
    e->flows = pace_flows_create(load);
    e->bytes = (size_t)load->flows * (sizeof *e->next + sizeof *e->flows);
    if (e->next == NULL || e->flows == NULL || !half_create(e, &e->halves[0], 0) ||
        !half_create(e, &e->halves[1], e->buckets)) {
        destroy(e);
        return NULL;
    }
    return e;
}

/* Sets the bit. The bit above it changes only if the word was empty. */
static inline void bits_set(const struct eiffel *e, struct half *h, uint32_t at)
{
    for (uint32_t l = 0; l <= e->top; l++) {
        uint64_t *word = &h->bits[l][at / 64], old = *word;

        *word = old | 1ull << at % 64;
        if (old != 0)
            return;
        at /= 64;
    }
}

static inline void bits_clear(const struct eiffel *e, struct half *h, uint32_t at)
{
    for (uint32_t l = 0; l <= e->top; l++) {
        uint64_t *word = &h->bits[l][at / 64];

        *word &= ~(1ull << at % 64);
        if (*word != 0)
            return;
        at /= 64;
    }
}

/* Finds the first set bit, if all below `at` are clear: climbs from there, then descends. */
static inline bool bits_first(const struct eiffel *e, const struct half *h, uint32_t *at)
{
    uint32_t l = 0, word = *at / 64;

    while (h->bits[l][word] == 0) {
        if (l++ == e->top)
            return false;
        word /= 64;
    }
    word = word * 64 + (uint32_t)__builtin_ctzll(h->bits[l][word]);
    while (l-- > 0)
        word = word * 64 + (uint32_t)__builtin_ctzll(h->bits[l][word]);
    *at = word;
    return true;
}

static inline void bucket_append(struct eiffel *e, uint32_t flow, uint64_t due)
{
    uint64_t at = (due + (1ull << e->shift) - 1) >> e->shift;
    uint32_t link = 2 * e->buckets + flow, bucket;
    struct half *h = &e->halves[e->served];

    at = RTE_MAX(at, e->base + e->first) - e->base;
    if (at >= e->buckets) {
        h = &e->halves[e->served ^ 1];
        at = RTE_MIN(at - e->buckets, e->buckets - 1ull);
    }
    bucket = (uint32_t)at;
    e->next[h->last[bucket]] = link;
    h->last[bucket] = link;
    bits_set(e, h, bucket);
}

/* Takes the first bucket's flows as a chain, if its time has come. */
static inline uint32_t bucket_take(struct eiffel *e, uint64_t until)
{
    struct half *h = &e->halves[e->served];
    uint32_t bucket = e->first;

    while (!bits_first(e, h, &bucket)) {
        if (until < e->base + e->buckets)
            return PACE_NONE;
        e->base += e->buckets;
        e->served ^= 1;
        e->first = bucket = 0;
        h = &e->halves[e->served];
    }
    if (e->base + bucket > until)
        return PACE_NONE;
    e->first = bucket;
    e->chain_end = h->last[bucket];
    h->last[bucket] = h->link + bucket;
    bits_clear(e, h, bucket);
    return e->next[h->link + bucket];
}

/* Finds flows whose bucket is due. */
static inline void find(struct eiffel *e, uint64_t until)
{
    uint32_t n = 0, link = e->chain;

    while (n < PACE_BURST) {
        if (link == PACE_NONE && (link = bucket_take(e, until)) == PACE_NONE)
            break;
        rte_prefetch0(&e->flows[link - 2 * e->buckets]);
        e->find[n++] = link - 2 * e->buckets;
        link = link == e->chain_end ? PACE_NONE : e->next[link];
    }
    e->chain = link;
    e->found = n;
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct eiffel *e = engine;
    uint64_t fine = (now - e->start_tsc) << PACE_FRACTION_BITS, until = fine >> e->shift;
    uint32_t n = 0;

    if (e->found == 0)
        find(e, until);
    while (e->found > 0 && n + e->found <= max) {
        for (uint32_t i = 0; i < e->found; i++) {
            uint32_t flow = e->find[i];
            bool more = pace_flow_take(&e->flows[flow], fine, &packets[n]);

            rte_prefetch0(packets[n++]);
            if (more)
                bucket_append(e, flow, e->flows[flow].due);
        }
        find(e, until);
    }
    return n;
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct eiffel *e = engine;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t flow = pace_flow_of(packets[i]);
        struct pace_flow *f = &e->flows[flow];

        if (pace_flow_give(f, packets[i])) {
            f->due = RTE_MAX(f->due, (now - e->start_tsc) << PACE_FRACTION_BITS);
            bucket_append(e, flow, f->due);
        }
    }
}

static size_t footprint_bytes(const void *engine)
{
    const struct eiffel *e = engine;

    return e->bytes;
}

const struct pace_engine pace_eiffel = {.name = "eiffel",
                                        .ahead = true,
                                        .slotted = true,
                                        .create = create,
                                        .destroy = destroy,
                                        .mark = pace_mark,
                                        .flow_of = pace_flow_of,
                                        .push = push,
                                        .pull = pull,
                                        .footprint_bytes = footprint_bytes};
