/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units that have come although they lie in a gap: where a receiver has more gaps than it keeps
 * spans for, it joins neighbours and notes here what came between them. One bit a unit, in pages of
 * ARRIVED_PAGE_UNITS successive units of one request, of which there are only those that have a
 * bit set.
 *
 * Invariant: pages ascend by their first position (wrap-safe, within 2^62); no page is empty.
 * Storage is the caller's and fixed. A look-up is a binary search; a page that comes or goes moves
 * those behind it (72 B each). Owned by one worker.
 */
#ifndef SLUICE_VT_ARRIVED_H
#define SLUICE_VT_ARRIVED_H

#include <stdbool.h>
#include <stdint.h>

#define ARRIVED_PAGE_UNITS 512u /* a cache line of bits */

struct arrived_page {
    uint64_t first; /* position of bit 0; its unit is a multiple of ARRIVED_PAGE_UNITS */
    uint64_t bits[ARRIVED_PAGE_UNITS / 64];
};

struct arrived {
    struct arrived_page *pages; /* capacity of them, the caller's */
    uint32_t capacity, count;
};

void arrived_init(struct arrived *a, struct arrived_page *pages, uint32_t capacity);

bool arrived_has(const struct arrived *a, uint64_t pos);
/* Notes `units` units from pos on, all of one request. False, with nothing changed, if there are
 * not as many pages. */
bool arrived_add(struct arrived *a, uint64_t pos, uint32_t units);
/* Forgets all in [first, end). */
void arrived_remove(struct arrived *a, uint64_t first, uint64_t end);
/* The first position in [pos, end) that is noted; end if there is none. */
uint64_t arrived_next(const struct arrived *a, uint64_t pos, uint64_t end);

#endif
