/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes at places: the ends of a line, or the hosts of a world. A frame belongs to the node at the
 * place where it arrives, on the UDP port that it names.
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

/* Adds a node, at most NODES_MAX. What the node refers to must outlive the set. */
void nodes_add(struct nodes *s, uint32_t place, struct node node);
/* The node to which a frame belongs; NULL: none. */
const struct node *nodes_find(const struct nodes *s, uint32_t place, const struct rte_mbuf *m);
/* Passes to out() what the nodes at a place have to send now, in the order in which they were
 * added. */
void nodes_send(const struct nodes *s, uint32_t place, uint64_t now,
                void (*out)(void *ctx, uint32_t place, struct rte_mbuf **m, uint16_t n), void *ctx);
/* When nodes_send() must be called next for a place, if no frame arrives; TIME_NEVER if never. */
uint64_t nodes_next(const struct nodes *s, uint32_t place, uint64_t now);

#endif
