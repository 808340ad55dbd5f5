/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzz target of lib/wire, its counts, and the golden inputs that reach all of it. */
#ifndef SLUICE_TEST_FUZZ_WIRE_H
#define SLUICE_TEST_FUZZ_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_INPUT_MAX 2048 /* bytes a golden input may have */

/* How often each parser accepted an input. A run in which it accepts none has not tested it. */
struct fuzz_wire_counts {
    uint64_t frames[16]; /* by enum frame_kind */
    uint64_t neigh[3];   /* by enum neigh_kind */
    uint64_t echoes;
    uint64_t packets[5]; /* by enum wire_type */
    uint64_t stamps, reflections;
};

extern struct fuzz_wire_counts fuzz_wire_counts;

/* Feeds one input to all of lib/wire; aborts if a promise of its headers does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes golden input number i and returns its length; 0 past the last. */
size_t golden_put(unsigned int i, uint8_t *p);

#endif
