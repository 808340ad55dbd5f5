/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of the rings that clients share with workers. Its input is a
 * program of steps: bits 0 to 2 are an enum rings_step, bit 3 says which of the two clients takes
 * it.
 */
#ifndef SLUICE_TEST_FUZZ_RINGS_H
#define SLUICE_TEST_FUZZ_RINGS_H

#include <stdint.h>

#include "client/protocol.h"
#include "fuzz.h"

enum rings_step {
    RINGS_STEP_POLL,   /* bits 4 to 7: how often, less 1 */
    RINGS_STEP_SUBMIT, /* op, flags, handle, values; bit 4: some bytes are changed */
    RINGS_STEP_WRITE,  /* two bytes of offset, a byte of length, bytes */
    RINGS_STEP_INDEX,  /* bit 4: cq_head, else sq_tail; a byte is added, bit 5: subtracted */
    RINGS_STEP_TELL, /* control: bits 4 and 5 are an enum rings_tell; a byte of region or service */
    RINGS_STEP_TAKE, /* the client takes its completions */
    RINGS_STEP_SLEEP, /* the worker goes to sleep, and wakes */
};

enum rings_tell { RINGS_LISTEN, RINGS_UNLISTEN, RINGS_ADD, RINGS_DROP };

struct fuzz_rings_counts {
    uint64_t submissions[PROTOCOL_OPS]; /* by enum protocol_op */
    uint64_t done[PROTOCOL_OPS];        /* completions with status 0 */
    uint64_t refused;                   /* completions with another status */
    uint64_t malformed;                 /* submissions with -EBADMSG */
    uint64_t faults[4];                 /* by enum channel_fault */
    uint64_t told[4];                   /* by enum rings_tell: agreed */
    uint64_t busy;                      /* regions that could not be dropped */
};

extern struct fuzz_rings_counts fuzz_rings_counts;

#endif
