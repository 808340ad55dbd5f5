/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * [tcp93 NAME] of a scenario (scenario.h): a TCP connection between the ports of two of its hosts.
 * It is a model of the TCP that hosts had in 1993, the papers' time (sim/tahoe.h). If nothing is
 * lost, in the end only the size of the socket buffers limits its window.
 */
#ifndef LAB_TCP93_H
#define LAB_TCP93_H

#include <stdint.h>

#include "lab/result.h"
#include "lab/text.h"
#include "sim/tahoe.h"
#include "sim/tahoe_receiver.h"

struct tcp93 {
    const char *name;
    uint32_t from, to;
    struct tahoe_config cfg;
    struct tahoe tcp;
    struct tahoe_receiver receiver;
    uint64_t read_bytes, read_before, read_last;
    struct tahoe_counts before;
    json_t *rate, *cwnd;
};

void tcp93_read(struct tcp93 *c, struct text *t, const char *section, const char *const *hosts,
                uint32_t n_hosts);
void tcp93_open(struct tcp93 *c, const struct frame_route *there, const struct frame_route *back,
                uint64_t hz, struct rte_mempool *pool, uint64_t now);
/* To be called when observation begins (scenario.h). */
void tcp93_begin(struct tcp93 *c);
void tcp93_sample(struct tcp93 *c, struct result *r, uint64_t now, uint64_t span_ns);
void tcp93_tell(const struct tcp93 *c, struct result *r, uint64_t span_ns);

#endif
