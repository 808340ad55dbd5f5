/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large memory of a session that outlives one test, and the pattern that content checks use.
 *
 * Populating a GiB takes a while: what one test gives back serves the next that wants the same
 * size.
 */
#ifndef SLUICE_COMMAND_REGION_H
#define SLUICE_COMMAND_REGION_H

#include <stdint.h>

#include "client/sluice.h"

#define REGIONS_MAX 512

struct regions {
    struct sluice *session;
    uint32_t n; /* that nobody uses */
    struct {
        uint8_t *memory;
        uint64_t len_bytes;
    } spare[REGIONS_MAX];
};

void regions_init(struct regions *r, struct sluice *session);
/* NULL: see sluice_error(). Content: anything. */
uint8_t *regions_take(struct regions *r, uint64_t len_bytes);
void regions_give(struct regions *r, uint8_t *memory, uint64_t len_bytes);

/* The pattern of a stream at position .. position + len of its sender's memory. */
void pattern_fill(uint8_t *to, uint64_t len, uint64_t seed, uint64_t position);
/* How many of its 8-byte words (and bytes of the last) are wrong, in bytes. */
uint64_t pattern_wrong(const uint8_t *from, uint64_t len, uint64_t seed, uint64_t position);

#endif
