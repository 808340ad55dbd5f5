/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoDel (RFC 8289): once packets have waited longer than target for a whole interval, one is
 * dropped as it leaves the queue, and more, at times that come nearer with the square root of their
 * number, until a wait below target.
 */
#ifndef SLUICE_PATH_CODEL_H
#define SLUICE_PATH_CODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "path/spec.h"

#define CODEL_MTU_BYTES 1514u /* a queue of no more than this is none */

struct codel_params {
    uint64_t target, interval; /* cycles */
    bool ecn;
};

struct codel {
    uint64_t
        first_above; /* when the wait will have been above target for an interval; 0: it is not */
    uint64_t drop_next;
    uint32_t count, last_count;
    bool dropping;
    bool owed; /* drop_next is still that of the last drop: it moves on if the next one waited, too
                */
};

/* "codel" has been taken. */
int codel_parse(struct spec *s, struct codel_params *p);

/* A packet that arrived at `arrived` leaves the queue, which has so many bytes left: is it to be
 * dropped? Ask again with the next one then. empty(): there was none. */
bool codel_leave(struct codel *c, const struct codel_params *p, uint64_t arrived,
                 uint64_t queued_bytes, uint64_t now);
void codel_empty(struct codel *c);
/* The one that was to be dropped is marked and leaves. */
void codel_marked(struct codel *c, const struct codel_params *p);

#endif
