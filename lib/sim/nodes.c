/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/nodes.h"

#include "base/check.h"
#include "base/clock.h"
#include "wire/frame.h"

#define NODES_BURST 32u

void nodes_add(struct nodes *s, uint32_t place, struct node node)
{
    CHECK(s->n < NODES_MAX);
    s->at[s->n].node = node;
    s->at[s->n++].place = place;
}

const struct node *nodes_find(const struct nodes *s, uint32_t place, const struct rte_mbuf *m)
{
    struct frame f;

    if (frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f) != FRAME_UDP)
        return NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct node *node = &s->at[i].node;

        if (s->at[i].place == place && node->port == f.dport && node->rx != NULL)
            return node;
    }
    return NULL;
}

void nodes_send(const struct nodes *s, uint32_t place, uint64_t now,
                void (*out)(void *ctx, uint32_t place, struct rte_mbuf **m, uint16_t n), void *ctx)
{
    struct rte_mbuf *m[NODES_BURST];
    uint16_t n;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct node *node = &s->at[i].node;

        if (s->at[i].place != place || node->next(node->self, now) > now)
            continue;
        do {
            n = node->tx(node->self, m, NODES_BURST, now);
            if (n > 0)
                out(ctx, place, m, n);
        } while (n == NODES_BURST);
    }
}

uint64_t nodes_next(const struct nodes *s, uint32_t place, uint64_t now)
{
    uint64_t next = TIME_NEVER;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i].place == place)
            next = time_min(next, s->at[i].node.next(s->at[i].node.self, now));
    return next;
}
