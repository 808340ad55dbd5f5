/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks that the receiver has told of one of its files (BLOCKS records), and where in it a
 * block of the sender's file stands. */
#ifndef SLUICE_COMMAND_BLOCK_LIST_H
#define SLUICE_COMMAND_BLOCK_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/record.h"

struct block {
    uint64_t weak, strong; /* rolling.h */
    uint64_t from;         /* bytes from the start of the receiver's file */
};

struct block_list {
    struct block *blocks; /* in the order of `from` */
    uint32_t n, room;
    uint32_t *table; /* numbers of blocks, from 1, by their weak sum; 0: none */
    uint8_t *filter; /* a bit for each weak sum that may be in the table */
    uint32_t bits;   /* the table has 2^bits places, the filter 2^(bits + FILTER_MORE) */
    uint64_t key;    /* spreads weak sums over both; the receiver does not know it */
    uint64_t seed;   /* of the strong hashes */
    uint32_t block;  /* bytes of each; 0: no record has come yet */
    bool whole;      /* the last record has come */
};

#define BLOCK_LIST_FILTER_MORE 4 /* so at most one of 32 places that are looked up is in it */

/* Takes a record. NULL, or what is wrong with it, or with this place for it. Without memory, the
 * list ends here: what it lacks is sent. */
const char *block_list_add(struct block_list *l, const struct record *r, const uint8_t *data);
void block_list_free(struct block_list *l);

/* False: no block has this weak sum. */
static inline bool block_list_may(const struct block_list *l, uint64_t weak)
{
    uint64_t at = weak * l->key >> (64 - l->bits - BLOCK_LIST_FILTER_MORE);

    return (l->filter[at / 8] >> at % 8 & 1) != 0;
}
/* The block with this weak sum whose strong hash is that of data; NULL: there is none. *hashed:
 * whether a block has the weak sum, so that data were hashed. */
const struct block *block_list_find(const struct block_list *l, uint64_t weak, const uint8_t *data,
                                    bool *hashed);
/* The block that begins at `from`; NULL: there is none. */
const struct block *block_list_at(const struct block_list *l, uint64_t from);

#endif
