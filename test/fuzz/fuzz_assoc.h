/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of inputs of fuzz_assoc.c. An input is a row of steps: a byte, and what it needs. */
#ifndef SLUICE_TEST_FUZZ_ASSOC_H
#define SLUICE_TEST_FUZZ_ASSOC_H

#include "fuzz.h"

/* Bits 0-2 of a step. The bits above: at host b (else a), and two that steps use as they say. */
enum assoc_step {
    STEP_TIME,    /* n: n * 100 ms pass */
    STEP_WANT,    /* the host wants the other one; FLAG: in doubt. Its INIT is the letter */
    STEP_DELIVER, /* the host takes the letter; FLAG: under pressure. Its answer is the letter */
    STEP_CHANGE,  /* at, mask: a byte of the letter changes; FLAG: an INIT gets a right mac1; MORE:
                     the letter is the last INIT, with the cookie that is in the letter */
    STEP_RAW,     /* n, then n bytes: these are the letter */
    STEP_FORGE,   /* 16 bytes: an INIT for the host with this payload, by the other one's key. FLAG:
                     a RESPONSE of the host, to the INIT that is the letter */
    STEP_CONFIRM, /* a packet has come under the host's newest incoming association; FLAG: under
                     another number */
    STEP_OVER,    /* the host's workers give back what is over; FLAG: they keep it */
};
#define STEP_AT_B 0x08
#define STEP_FLAG 0x10
#define STEP_MORE 0x20

/* What has come about since the start. */
struct fuzz_assoc_counts {
    uint64_t steps[8], incoming, outgoing, cookies, confirmed, over, refused;
};

extern struct fuzz_assoc_counts fuzz_assoc_counts;

#endif
