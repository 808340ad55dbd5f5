/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoDel (RFC 8289): once packets have waited longer than target for a whole interval, one is
 * dropped as it leaves the queue. More drops follow until a packet has waited less than target. The
 * time from one drop to the next is interval / sqrt(count), where count grows by one with each
 * drop.
 */
#ifndef SLUICE_PATH_CODEL_H
#define SLUICE_PATH_CODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "path/spec.h"

#define CODEL_MTU_BYTES 1514u /* a queue of at most so many bytes counts as empty */

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
    /* drop_next is still the time of the last drop. It moves on when the next packet has waited too
     * long, too. */
    bool owed;
};

/* Reads the options after "codel". 0, or an error kept in s. */
int codel_parse(struct spec *s, struct codel_params *p);

/* A packet that arrived at `arrived` leaves the queue, which has queued_bytes left. True: the
 * caller must drop the packet and call codel_leave() with the next one, or codel_empty() if there
 * is none. */
bool codel_leave(struct codel *c, const struct codel_params *p, uint64_t arrived,
                 uint64_t queued_bytes, uint64_t now);
void codel_empty(struct codel *c);
/* To be called when the packet that codel_leave() wanted dropped is marked instead, and leaves. */
void codel_marked(struct codel *c, const struct codel_params *p);

#endif
