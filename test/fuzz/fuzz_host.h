/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of lib/host. Its input: a byte of enum host_mode, then a program of
 * steps: bits 0 to 3 are an enum host_step, bit 4 says which of two hosts takes it.
 */
#ifndef SLUICE_TEST_FUZZ_HOST_H
#define SLUICE_TEST_FUZZ_HOST_H

#include <stdint.h>

#include "fuzz.h"

enum host_mode {
    MODE_SEALED = 1,
    MODE_IPV6 = 2,
    MODE_COPY = 4, /* payload is copied into frames, not attached */
    MODE_GO_BACK_N = 8,
    MODE_UNSUMMED = 16, /* no UDP checksums */
    MODE_VLAN = 32,
};

enum host_step {
    HOST_STEP_RUN,  /* a byte of rounds, in which frames of both hosts arrive; bits 5 to 7: a round
                       takes 1 us << 3 * these */
    HOST_STEP_OPEN, /* bit 5: connects, else accepts */
    HOST_STEP_SEND, /* a number of bytes; bit 5: in two pieces */
    HOST_STEP_RECV, /* a number of bytes */
    HOST_STEP_END,  /* shuts down; bit 5: closes */
    HOST_STEP_LOSE, /* a byte: which of the frames of each eight are lost in the next run */
    HOST_STEP_LETTER, /* a byte: which of the frames sent lately arrives again; bit 5: changed; bit
                         6: cut short; bit 7: at the host that sent it */
    HOST_STEP_RAW,    /* a byte of length, bytes of a frame */
    HOST_STEP_FIRST,  /* packets as the other host might send: values are added to right ones; */
    HOST_STEP_DATA,   /* bit 5: changed; bit 6: with the early key; bit 7: from another port */
    HOST_STEP_CNTL,
    HOST_STEP_RCNTL,
    HOST_STEP_LINK,     /* ARP or ND: a byte of kind and of addresses */
    HOST_STEP_TIME,     /* a byte of time, in ms << bits 5 to 7; no frame arrives */
    HOST_STEP_CAPACITY, /* control: a number of bytes per second */
};

struct fuzz_host_counts {
    uint64_t opened, sent, received; /* operations that completed with status 0 */
    uint64_t failed;
    uint64_t forged, dropped; /* frames of the input; those that a counter of drops counted */
    uint64_t checked;         /* received requests whose content was compared */
    uint64_t sealed;          /* of these, under an association */
};

extern struct fuzz_host_counts fuzz_host_counts;

#endif
