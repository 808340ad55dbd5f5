/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's file that a new one may share content with: read block by block, for the list that
 * the sender gets (BLOCKS records). */
#ifndef SLUICE_COMMAND_BASIS_H
#define SLUICE_COMMAND_BASIS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/extent.h"
#include "sluice/files/record.h"

struct basis {
    int fd;            /* -1: none is being read */
    uint64_t ask;      /* number of the ASK that is answered */
    uint64_t at, size; /* bytes */
    uint64_t seed;     /* of the hashes */
    uint32_t block;    /* bytes */
    uint32_t told;     /* blocks */
    bool sparse;
    struct extent extent;
    uint8_t *memory; /* of blocks; NULL: none yet */
    uint64_t room;   /* bytes of it */
};

void basis_init(struct basis *b);
void basis_fini(struct basis *b);
static inline bool basis_is_open(const struct basis *b)
{
    return b->fd >= 0;
}
/* Takes the descriptor of a regular file. On failure it is closed, and there is no basis: a
 * negative errno. */
int basis_open(struct basis *b, int fd, uint64_t ask);
void basis_close(struct basis *b);
/* Reads the next blocks: sets the record BLOCKS, and writes its data, at most RECORD_BLOCKS_MAX *
 * RECORD_BLOCK_BYTES, to `data`. The record with the flag RECORD_LAST closes the file. Returns the
 * bytes of work done. */
uint64_t basis_tell(struct basis *b, struct record *r, uint8_t *data);

#endif
