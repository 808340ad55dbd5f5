/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of the receiver of files. Its input: a byte of the destination
 * (bits 0 and 1: an enum destination_kind; bit 2: files are replaced; bit 3: what interrupted
 * transfers leave is kept; bit 4: it is a sync into a directory that keeps all attributes, with bit
 * 5 a dry run, with bit 6 one that deletes, with bit 0, too, before anything is sent, with bit 7
 * one by checksums), then a program of steps that fill a request with records. Bits 0 to 3 of a
 * step are an enum record_step.
 */
#ifndef SLUICE_TEST_FUZZ_RECORD_H
#define SLUICE_TEST_FUZZ_RECORD_H

#include <stdint.h>

#include "fuzz.h"

/* Steps 1 to 8 make a record of this enum record_type, right but for what the input says. Bit 4 of
 * the step: with another file number; bit 5: with another offset, size or hash; bit 6: with changed
 * bytes in its header; bit 7: its length is not that of its data. */
enum record_step {
    RECORD_STEP_SEND = 0, /* the request arrives */
    RECORD_STEP_RAW = 9,  /* a byte of length, and bytes */
    RECORD_STEP_SENT,     /* what was answered has been sent */
    RECORD_STEP_NO_MORE,  /* the sender has shut down */
    RECORD_STEP_BROKEN,   /* the connection has failed */
    RECORD_STEP_RESUME, /* a byte, whose bits 0 and 1 name a record: ASK, ANSWER, HAVE, KEEP; bits 4
                           to 7 as in a step. With bit 2, it is about several connections: STREAMS
                           (bits 4 to 7: of how many, less 1); a peer that joins, with a byte of its
                           token, of which 7 is right; the other connection carries the requests
                           from here on; they go on with the number after that in a byte */
    RECORD_STEP_LEFT,   /* an interrupted transfer has left a part of FUZZ_LEFT */
    RECORD_STEP_SYNC,   /* a byte, whose bits 0 to 2 name a record: LINK, NAME, a DIR that begins,
                           END_ALL of what was not all read, BLOCKS, COPY, ATTR, HARD; with bit 3,
                           NAMED, NAME of a directory, NAMED of what was not all read, by bits 0
                           and 1; bits 4 to 7 as in a step */
};

/* A file of which a part may be there: its OFFER has this name, size and time. */
#define FUZZ_LEFT_NAME  "l"
#define FUZZ_LEFT_BYTES ((2u << 20) + 1)
#define FUZZ_LEFT_TIME  5

struct fuzz_record_counts {
    uint64_t decoded[32]; /* by enum record_type */
    uint64_t told;        /* chunks whose hashes were told */
    uint64_t resumed;     /* files of which a part was kept */
    uint64_t blocks;      /* of files that are to be replaced, that were told */
    uint64_t copied;      /* pieces of them that a new one got */
    uint64_t refused;     /* bytes that are no record */
    uint64_t broken;      /* connections that ended because of a record */
    uint64_t results[16]; /* by enum record_code */
    uint64_t whole;       /* connections that ended well */
    uint64_t items;       /* lines of what a sync changes */
    uint64_t deleted;     /* among them, of what it deletes */
    uint64_t special;     /* files that got set-user-ID or the like, with their owner */
    uint64_t linked;      /* further names that were given */
    uint64_t joined;      /* connections that have joined a transfer */
    uint64_t elsewhere;   /* requests that came on them */
};

extern struct fuzz_record_counts fuzz_record_counts;

#endif
