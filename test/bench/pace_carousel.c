/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After Carousel (SIGCOMM 2017): one timing wheel with as many slots as the load's longest period
 * needs. A flow waits in the slot of its next release time, and is put into another right after
 * that release.
 *
 * Invariant: slot s holds flows with due <= s * width, in order of arrival, and is emptied when now
 * >= s * width, so no packet leaves early. An overdue flow waits at the end of the slot that is
 * being emptied.
 *
 * Made for speed. A slot is a list of 32-bit links, kept apart from the flows. The list begins with
 * a link of the slot's own, so an append needs no branch for an empty slot. A pull finds up to
 * PACE_BURST flows and prefetches their lines. It releases the flows that were found before, and
 * prefetches their packets, which push() will read.
 */
#include <rte_prefetch.h>

#include "pace_flow.h"

struct carousel {
    uint64_t start_tsc;
    uint64_t now_slot;         /* all slots before it are empty */
    uint32_t shift, mask;      /* flows' times to slots */
    uint32_t found;            /* entries of find */
    uint32_t chain, chain_end; /* links: the rest of the slot that is being emptied */
    uint32_t *last;            /* slot -> its last link, its own if it is empty */
    uint32_t *next;            /* link -> the next: first those of slots, then those of flows */
    struct pace_flow *flows;
    uint32_t slots;
    size_t bytes;
    uint32_t find[PACE_BURST];
};

static void destroy(void *engine)
{
    struct carousel *c = engine;

    rte_free(c->last);
    rte_free(c->next);
    rte_free(c->flows);
    rte_free(c);
}

static void *create(const struct pace_load *load)
{
    struct carousel *c = pace_memory(sizeof *c);
    struct pace_slots slots = pace_slots_for(load);

    if (c == NULL)
        return NULL;
    c->start_tsc = load->start_tsc;
    c->shift = slots.shift;
    c->slots = (uint32_t)slots.count;
    c->mask = c->slots - 1;
    c->chain = PACE_NONE;
    c->last = pace_memory(c->slots * sizeof *c->last);
    c->next = pace_memory((c->slots + load->flows) * sizeof *c->next);
    c->flows = pace_flows_create(load);
    if (c->last == NULL || c->next == NULL || c->flows == NULL) {
        destroy(c);
        return NULL;
    }
    for (uint32_t i = 0; i < c->slots; i++)
        c->last[i] = i;
    c->bytes =
        2 * c->slots * sizeof *c->last + (size_t)load->flows * (sizeof *c->next + sizeof *c->flows);
    return c;
}

static inline void slot_append(struct carousel *c, uint32_t flow, uint64_t due)
{
    uint64_t at = (due + (1ull << c->shift) - 1) >> c->shift;
    uint32_t *last = &c->last[RTE_MAX(at, c->now_slot) & c->mask];

    c->next[*last] = c->slots + flow;
    *last = c->slots + flow;
}

/* Finds flows whose slot is due. */
static inline void find(struct carousel *c, uint64_t until)
{
    uint32_t n = 0, link = c->chain;

    while (n < PACE_BURST) {
        if (link == PACE_NONE) {
            uint32_t slot = (uint32_t)c->now_slot & c->mask;

            if (c->last[slot] == slot) {
                if (c->now_slot >= until)
                    break;
                c->now_slot++;
                continue;
            }
            link = c->next[slot];
            c->chain_end = c->last[slot];
            c->last[slot] = slot;
        }
        rte_prefetch0(&c->flows[link - c->slots]);
        c->find[n++] = link - c->slots;
        link = link == c->chain_end ? PACE_NONE : c->next[link];
    }
    c->chain = link;
    c->found = n;
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct carousel *c = engine;
    uint64_t fine = (now - c->start_tsc) << PACE_FRACTION_BITS, until = fine >> c->shift;
    uint32_t n = 0;

    if (c->found == 0)
        find(c, until);
    while (c->found > 0 && n + c->found <= max) {
        for (uint32_t i = 0; i < c->found; i++) {
            uint32_t flow = c->find[i];
            bool more = pace_flow_take(&c->flows[flow], fine, &packets[n]);

            rte_prefetch0(packets[n++]);
            if (more)
                slot_append(c, flow, c->flows[flow].due);
        }
        find(c, until);
    }
    return n;
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct carousel *c = engine;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t flow = pace_flow_of(packets[i]);
        struct pace_flow *f = &c->flows[flow];

        if (pace_flow_give(f, packets[i])) {
            f->due = RTE_MAX(f->due, (now - c->start_tsc) << PACE_FRACTION_BITS);
            slot_append(c, flow, f->due);
        }
    }
}

static size_t footprint_bytes(const void *engine)
{
    const struct carousel *c = engine;

    return c->bytes;
}

const struct pace_engine pace_carousel = {.name = "carousel",
                                          .ahead = true,
                                          .slotted = true,
                                          .create = create,
                                          .destroy = destroy,
                                          .mark = pace_mark,
                                          .flow_of = pace_flow_of,
                                          .push = push,
                                          .pull = pull,
                                          .footprint_bytes = footprint_bytes};
