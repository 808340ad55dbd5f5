/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes at places: the ends of a line, the hosts of a world. A frame is the node's at whose place
 * it comes and whose UDP port it names.
 */
#ifndef SLUICE_SIM_NODES_H
#define SLUICE_SIM_NODES_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "sim/node.h"

#define NODES_MAX 32u

struct nodes {
    struct {
        struct node node;
        uint32_t place;
    } at[NODES_MAX];
    uint32_t n;
};

/* What it refers to must outlive the nodes. At most NODES_MAX. */
void nodes_add(struct nodes *s, uint32_t place, struct node node);
/* Whose frame it is; NULL: nobody's. */
const struct node *nodes_find(const struct nodes *s, uint32_t place, const struct rte_mbuf *m);
/* What those at a place have to send now, in the order in which they were added: out() takes it. */
void nodes_send(const struct nodes *s, uint32_t place, uint64_t now,
                void (*out)(void *ctx, uint32_t place, struct rte_mbuf **m, uint16_t n), void *ctx);
/* When those at a place must be asked next; TIME_NEVER. */
uint64_t nodes_next(const struct nodes *s, uint32_t place, uint64_t now);

#endif
