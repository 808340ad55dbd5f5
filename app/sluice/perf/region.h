/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large memory regions of a session, kept from one test to the next; and the pattern of content
 * checks.
 *
 * Populating a GiB takes a while, so a region that one test gives back is used for the next test
 * that needs the same size.
 */
#ifndef SLUICE_COMMAND_REGION_H
#define SLUICE_COMMAND_REGION_H

#include <stdint.h>

#include "client/sluice.h"

#define REGIONS_MAX 512

struct regions {
    struct sluice *session;
    uint32_t n; /* spare regions, in use by no test */
    struct {
        uint8_t *memory;
        uint64_t len_bytes;
    } spare[REGIONS_MAX];
};

void regions_init(struct regions *r, struct sluice *session);
/* Returns a region, whose content is undefined. NULL: see sluice_error(). */
uint8_t *regions_take(struct regions *r, uint64_t len_bytes);
void regions_give(struct regions *r, uint8_t *memory, uint64_t len_bytes);

/* Writes the stream's pattern for [position, position + len) of its sender's memory. */
void pattern_fill(uint8_t *to, uint64_t len, uint64_t seed, uint64_t position);
/* Compares with the pattern by words of 8 bytes (the last may be shorter). Returns the number of
 * bytes in the words that differ. */
uint64_t pattern_wrong(const uint8_t *from, uint64_t len, uint64_t seed, uint64_t position);

#endif
