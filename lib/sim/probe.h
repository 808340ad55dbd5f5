/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: numbered frames at even intervals that alternate between two lengths, as the papers
 * measured one-way delays ([FRAME-RELAY]: 46 and 68 bytes every 100 ms) and round trips ([ATM]).
 * The mirror at the other end reports each frame and may send it back.
 *
 *   frame i is sent at start + i * interval_ns, with number i and its IP length len[i % 2]
 *   a frame that comes back at t was under way for t - start - i * interval_ns
 *
 * Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_SIM_PROBE_H
#define SLUICE_SIM_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sim/node.h"
#include "wire/frame.h"

#define PROBE_HELD_MAX 1024u

/* A callback for each frame: its number, its IP length, and how long it was under way. */
struct probe_hook {
    void (*seen)(void *ctx, uint32_t number, uint16_t ip_len, uint64_t cycles, uint64_t now);
    void *ctx;
};

struct probe_config {
    struct frame_route route; /* IPv4 */
    uint64_t hz, start;
    uint64_t interval_ns;
    uint16_t ip_len[2]; /* >= SEGMENT_IP_BYTES */
    uint32_t frames;    /* in all; 0: without end */
    struct rte_mempool *pool;
    struct probe_hook hook; /* called for each frame that comes back */
};

struct probe {
    struct probe_config cfg;
    uint32_t sent, back;
    uint32_t no_mbuf; /* of those sent: the pool was empty, or its mbufs too small */
};

void probe_init(struct probe *p, const struct probe_config *cfg);
void probe_rx(struct probe *p, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t probe_tx(struct probe *p, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t probe_next(const struct probe *p, uint64_t now);
/* When frame `number` is sent. */
uint64_t probe_when(const struct probe *p, uint32_t number);
struct node probe_node(struct probe *p);

/* The mirror at the other end. Its clock is the sender's, so the cycles of its hook are a one-way
 * delay. */
struct mirror_config {
    const struct probe *of;
    struct frame_route route;
    uint64_t turn_ns; /* the host's overhead: how much later frames go back */
    bool reflect;
    struct rte_mempool *pool;
    struct probe_hook hook;
};

struct mirror {
    struct mirror_config cfg;
    uint64_t turn; /* cycles */
    uint32_t seen[2];
    uint32_t full; /* frames not sent back: PROBE_HELD_MAX waited, or the pool was empty */
    struct {
        uint64_t at;
        uint32_t number;
        uint16_t ip_len;
    } held[PROBE_HELD_MAX]; /* frames to send back: a ring, by time */
    uint32_t first, count;
};

void mirror_init(struct mirror *r, const struct mirror_config *cfg);
void mirror_rx(struct mirror *r, struct rte_mbuf **m, uint16_t n, uint64_t now);
uint16_t mirror_tx(struct mirror *r, struct rte_mbuf **m, uint16_t max, uint64_t now);
uint64_t mirror_next(const struct mirror *r, uint64_t now);
struct node mirror_node(struct mirror *r);

#endif
