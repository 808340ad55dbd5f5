/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoDel (RFC 8289): once packets have waited longer than target for a whole interval, one is
 * dropped as it leaves the queue. More drops follow, each interval / sqrt(count) after the one
 * before, until a packet has waited less than target.
 */
#ifndef SLUICE_PATH_CODEL_H
#define SLUICE_PATH_CODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "path/spec.h"

#define CODEL_MTU_BYTES 1514u /* a queue of at most this counts as empty */

struct codel_params {
    uint64_t target, interval; /* cycles */
    bool ecn;
};

struct codel {
    /* When the wait will have been above target for an interval; 0: it is below target. */
    uint64_t first_above;
    uint64_t drop_next;
    uint32_t count, last_count;
    bool dropping;
    /* drop_next has not moved on since the last drop; it does if the next packet waited too long,
     * too. */
    bool owed;
};

/* Reads the options after "codel". 0, or an error kept in s. */
int codel_parse(struct spec *s, struct codel_params *p);

/* A packet that arrived at `arrived` leaves the queue, which has queued_bytes left. True: drop it
 * and call again with the next packet, or codel_empty() if there is none. */
bool codel_leave(struct codel *c, const struct codel_params *p, uint64_t arrived,
                 uint64_t queued_bytes, uint64_t now);
void codel_empty(struct codel *c);
/* The packet that was to be dropped is marked instead, and leaves. */
void codel_marked(struct codel *c, const struct codel_params *p);

#endif
