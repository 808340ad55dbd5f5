/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of the daemon's socket. Its input is a program of steps: bits 0 to
 * 2 are an enum session_step, bits 3 and 4 say which client takes it.
 */
#ifndef SLUICE_TEST_FUZZ_SESSION_H
#define SLUICE_TEST_FUZZ_SESSION_H

#include <stdint.h>

#include "fuzz.h"

enum session_step {
    SESSION_STEP_POLL,    /* bits 5 to 7: how often, less 1 */
    SESSION_STEP_CONNECT, /* bit 5: and says HELLO; bit 6: and opens a session */
    SESSION_STEP_CLOSE,
    SESSION_STEP_REQUEST, /* a byte of type (enum protocol_type), a byte of enum session_how, values
                           */
    SESSION_STEP_RAW,     /* a byte of enum session_how, a byte of length, bytes */
    SESSION_STEP_READ,    /* the client takes its answers */
    SESSION_STEP_WRITE,   /* into session memory: two bytes of offset, a byte of length, bytes */
    SESSION_STEP_SUBMIT,  /* bit 5: channel; a submission: op, flags, handle, region, offset, length
                           */
};

/* What goes along with a message. Bits 0 to 2: an enum session_fd. */
enum session_how {
    SESSION_PATCHED = 8, /* some of its bytes are changed */
    SESSION_LONGER = 16, /* a byte of length, and so many more */
};

enum session_fd {
    SESSION_FD_NONE,
    SESSION_FD_RIGHT, /* a memfd of the length that the request says */
    SESSION_FD_SHORT, /* a memfd of one page */
    SESSION_FD_UNSEALABLE,
    SESSION_FD_READ_ONLY,
    SESSION_FD_DEVICE,
    SESSION_FD_SOCKET,
    SESSION_FD_TWO,
};

struct fuzz_session_counts {
    uint64_t requests[13], answers[13]; /* by enum protocol_type; answers with status 0 */
    uint64_t refused, byes, submissions, completions;
};

extern struct fuzz_session_counts fuzz_session_counts;

#endif
