/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flows of a load: addresses and UDP ports that count up.
 *
 * Each of four fields counts through a span of values. The source port counts fastest, then the
 * destination port, the source address and the destination address, like the digits of a number:
 * flow i has the values of i in this system, so flows 0 .. count-1 differ as long as the product of
 * the spans is at least `count`. Of addresses, the last 32 bits count.
 */
#ifndef SLUICE_TRAFFIC_FLOWS_H
#define SLUICE_TRAFFIC_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"
#include "wire/stamp.h"

#define FLOWS_MAX (1u << 20)

enum flows_field { FLOWS_SPORT, FLOWS_DPORT, FLOWS_SRC, FLOWS_DST, FLOWS_FIELDS };

struct flows {
    struct frame_route route; /* of flow 0, and the fields that all flows share */
    uint32_t span[FLOWS_FIELDS];
    uint32_t count; /* 1 .. FLOWS_MAX */
};

/* Are there enough values for the flows, and do the fields have room for their spans? 0, or -EINVAL
 * with the cause and the cure in err. */
int flows_check(const struct flows *f, char *err, size_t err_len);

/* Writes flows first, first + step, ... to out, and returns how many those are. A flow's number is
 * its place in out. */
uint32_t flows_list(const struct flows *f, uint32_t first, uint32_t step, struct stamp_flow *out);

/* The same flows in the other direction: sources and destinations change places. */
struct flows flows_back(const struct flows *f);

#endif
