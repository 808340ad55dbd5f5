/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of units that are too scattered for spans (base/span.h). A receiver with more gaps than
 * spans joins neighbouring gaps, and notes here the units that arrived between them. A sender notes
 * here the units that it must repeat and has no span for. The set has one bit per unit, in pages of
 * UNIT_SET_PAGE_UNITS successive units of one request. Only pages with a bit set exist.
 *
 * Invariant: pages ascend by their first position (wrap-safe, within 2^62); no page is empty.
 * Storage is the caller's and fixed. A look-up is a binary search; adding or removing a page moves
 * those behind it (72 B each). Owned by one worker.
 */
#ifndef SLUICE_VT_UNIT_SET_H
#define SLUICE_VT_UNIT_SET_H

#include <stdbool.h>
#include <stdint.h>

#define UNIT_SET_PAGE_UNITS 512u /* a cache line of bits */

struct unit_set_page {
    uint64_t first; /* position of the unit in bit 0: a multiple of UNIT_SET_PAGE_UNITS */
    uint64_t bits[UNIT_SET_PAGE_UNITS / 64];
};

struct unit_set {
    struct unit_set_page *pages; /* the caller's storage, for `capacity` pages */
    uint32_t capacity, count;
};

void unit_set_init(struct unit_set *a, struct unit_set_page *pages, uint32_t capacity);

bool unit_set_has(const struct unit_set *a, uint64_t pos);
/* Adds `units` units from pos on, all of one request. False, with nothing changed, if too few pages
 * are free. */
bool unit_set_add(struct unit_set *a, uint64_t pos, uint32_t units);
/* Removes all units in [first, end). */
void unit_set_remove(struct unit_set *a, uint64_t first, uint64_t end);
/* The first position in [pos, end) that is in the set; end if there is none. */
uint64_t unit_set_next(const struct unit_set *a, uint64_t pos, uint64_t end);

#endif
