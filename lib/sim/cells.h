/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source of numbered cells at an even rate, and a count of those lost on the path ([ATM], table 1
 * and figure 5). A cell is an mbuf of 53 bytes that begins with its number, a u64, big endian. It
 * carries nothing else, so it can go through paths that look at no headers.
 *
 *   cell i is sent at start + i * 53 * hz / rate_Bps, rounded down; exact for any i
 *   a gap is the difference of the numbers of two cells lost one after the other
 *
 * Time: cycles of `hz`. Owned by one thread.
 */
#ifndef SLUICE_SIM_CELLS_H
#define SLUICE_SIM_CELLS_H

#include <stdint.h>

#include <rte_mbuf.h>

#define CELLS_BYTES 53u

struct cells_config {
    uint64_t hz, start;
    uint64_t rate_Bps; /* whole cells, 53 bytes each */
    uint64_t count;    /* cells in all; 0: without end */
    struct rte_mempool *pool;
};

struct cells {
    struct cells_config cfg;
    uint64_t sent;     /* cells */
    uint64_t when;     /* when the next cell is sent */
    uint64_t fraction; /* of a cycle, in 1 / rate_Bps */
    uint64_t no_mbuf;  /* cells not sent, whose numbers are skipped: the pool was empty */
};

void cells_init(struct cells *c, const struct cells_config *cfg);
/* Makes the cells that are due, at most max. */
uint16_t cells_tx(struct cells *c, struct rte_mbuf **m, uint16_t max, uint64_t now);
/* When the next cell is sent; TIME_NEVER after the last. */
uint64_t cells_next(const struct cells *c);

struct cells_count {
    uint64_t received; /* in order */
    uint64_t lost;
    uint64_t expected;         /* number of the next cell */
    uint64_t last_lost;        /* number of the last lost cell, if lost > 0 */
    uint64_t gaps;             /* max(lost, 1) - 1 */
    uint64_t gap_min, gap_max; /* cells; 0 without gaps */
    uint64_t gap_sum, gap_squares;
};

/* Counts and frees the cells. One that comes behind a later one, or again, is ignored: in a line of
 * ATM cells keep their order, so it has been counted as lost before, or as received. */
void cells_rx(struct cells_count *k, struct rte_mbuf **m, uint16_t n);
/* Ends the count: of `sent` cells, those that have not come are lost. */
void cells_end(struct cells_count *k, uint64_t sent);

#endif
