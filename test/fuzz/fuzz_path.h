/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of lib/path. Its input is text, a 0 byte, the content of the file
 * that the text may name, a 0 byte, and a program of steps: bits 0 and 1 are an enum path_step.
 */
#ifndef SLUICE_TEST_FUZZ_PATH_H
#define SLUICE_TEST_FUZZ_PATH_H

#include <stdint.h>

#include "fuzz.h"

enum path_step {
    PATH_STEP_PUSH, /* bits 2 and 3: packets less 1; a byte: enum path_frame and flow; a byte:
                       length */
    PATH_STEP_POP,  /* bits 2 to 7: packets at most, less 1 */
    PATH_STEP_TIME, /* bits 2 to 7: a shift; a byte of time */
    PATH_STEP_NEXT, /* to the time of the next packet */
};

/* Bits 0 and 1 of the byte behind PATH_STEP_PUSH. Bit 2: ECN-capable; bit 3: the mbuf's own memory,
 * not an external buffer; bits 4 to 7: the flow. */
enum path_frame {
    PATH_FRAME_UDP4,
    PATH_FRAME_UDP6,
    PATH_FRAME_TCP4_VLAN,
    PATH_FRAME_ANY, /* bytes that are no known protocol */
};

/* The name of the file that a text can read. */
#define PATH_FILE "./f"

struct fuzz_path_counts {
    uint64_t parsed, refused, again, files;
    uint64_t in, out, dropped, copied;
};

extern struct fuzz_path_counts fuzz_path_counts;

#endif
