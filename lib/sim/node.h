/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node: a model of a host at an end of a line. All models have the same three functions, so that
 * one loop can drive any of them. A node is reached at its UDP port.
 */
#ifndef SLUICE_SIM_NODE_H
#define SLUICE_SIM_NODE_H

#include <stdint.h>

#include <rte_mbuf.h>

struct node {
    void *self;
    uint16_t port; /* UDP destination port of its frames */
    /* Takes frames, each whole in one mbuf; the node then owns them. NULL: it takes none. */
    void (*rx)(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now);
    /* Gives at most max frames to send now. */
    uint16_t (*tx)(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now);
    /* When tx must be called next if nothing comes: `now` if it has work, TIME_NEVER if never. */
    uint64_t (*next)(const void *self, uint64_t now);
};

#endif
