/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for requests that are on the way, one buffer of PACK_BYTES each.
 *
 * The daemon locks this memory, and both processes have to fault it in: 10 ms for 32 MiB. So a
 * transfer begins with one or two buffers, and makes as many again whenever it could use more. A
 * short one never needs the rest; a long one has all of them after a few requests.
 */
#ifndef SLUICE_COMMAND_BUFFERS_H
#define SLUICE_COMMAND_BUFFERS_H

#include <stdint.h>

#include "client/sluice.h"

#define BUFFERS_MAX 64

struct buffers {
    struct sluice *session; /* its memory lives as long */
    uint32_t most;          /* there may be so many, at most BUFFERS_MAX */
    uint32_t n;             /* there are so many */
    uint32_t n_free;
    uint8_t free[BUFFERS_MAX]; /* their numbers, below n */
    uint8_t *at[BUFFERS_MAX];
};

void buffers_init(struct buffers *b, struct sluice *session, uint32_t most);
/* Makes as many buffers as there are, or one if there is none, but no more than `most`. 0, also if
 * there are enough; or a negative errno of sluice_alloc(), after which no more are asked for. */
int buffers_grow(struct buffers *b);
/* Takes a free buffer. Returns its number; -1: none is free. */
int buffers_take(struct buffers *b);
void buffers_give(struct buffers *b, uint32_t i);
/* All buffers are free: what used them has ended. */
void buffers_give_all(struct buffers *b);

#endif
