/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of the fuzz target of lib/wire. */
#ifndef SLUICE_TEST_FUZZ_WIRE_H
#define SLUICE_TEST_FUZZ_WIRE_H

#include <stdint.h>

#include "fuzz.h"

/* How often each parser accepted an input. A run in which it accepts none has not tested it. */
struct fuzz_wire_counts {
    uint64_t frames[16]; /* by enum frame_kind */
    uint64_t neigh[3];   /* by enum neigh_kind */
    uint64_t echoes;
    uint64_t packets[8]; /* by enum wire_type */
    uint64_t stamps, reflections;
};

extern struct fuzz_wire_counts fuzz_wire_counts;

#endif
