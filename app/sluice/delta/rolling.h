/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what two files share, although it stands at different places in them.
 *
 * Model: the receiver cuts its file into blocks of T bytes, and tells for each a weak sum (40 bits)
 * and a strong hash (48 bits). The sender looks at T bytes of its own file that begin anywhere. The
 * weak sum moves on by one byte in a few instructions; only where a block has this sum, the strong
 * hash is computed. Weak sum of bytes d[0] .. d[T - 1], mod 2^40:
 *
 *   a = sum of d[i],  b = sum of (T - i) d[i],  weak = b + K a
 *   one byte on:  a' = a - d[0] + d[T],  b' = b - T d[0] + a'
 *
 * So a stretch that is the same costs only the strong hash, at the speed of memory: after a block
 * that was found, the next one is expected, and no weak sum is needed. Only what differs is looked
 * at byte by byte. Both hashes agree by chance for one of 2^88 pairs of a place and a block. A file
 * of 2 GiB has 2^47 such pairs, and one of 1 TiB 2^60; the hash of the whole file shows it.
 *
 * What T is best? The list of a file of B bytes has B / T blocks of E bytes. A change costs the
 * block that it hits. For n changes, E B / T + n T is least for T = sqrt(E B / n). E is 11. n is
 * not known; for 20 changes, T is near the square root of B, as rsync has it.
 *
 * Alternatives: blocks whose ends the content marks (LBFS, FastCDC) are the same at any place, and
 * need no weak sum, but both ends must look at every byte; here that took 1.5 s for each GiB, where
 * the strong hash takes 0.15 s. A change spoiled 1.25 T.
 * Sources: Tridgell, "Efficient algorithms for sorting and synchronization" (1999), chapter 3;
 * rsync also expects the next block first.
 */
#ifndef SLUICE_COMMAND_ROLLING_H
#define SLUICE_COMMAND_ROLLING_H

#include <stdint.h>

#define ROLLING_K    0x9e3779b97f4a7c15u
#define ROLLING_MASK ((1ull << 40) - 1)

struct rolling {
    uint64_t a, b;
};

/* The length T of a block, in bytes, for a file of `size` bytes: a multiple of RECORD_BLOCK_MIN, up
 * to RECORD_BLOCK_MAX. */
uint32_t rolling_block(uint64_t size);

/* Sums over the first T bytes. */
void rolling_begin(struct rolling *r, const uint8_t *data, uint32_t block);

/* Moves on by one byte: `out` leaves, `in` is the new one. */
static inline void rolling_move(struct rolling *r, uint32_t block, uint8_t out, uint8_t in)
{
    r->a += (uint64_t)in - out;
    r->b += r->a - (uint64_t)block * out;
}

static inline uint64_t rolling_weak(const struct rolling *r)
{
    return (r->b + r->a * ROLLING_K) & ROLLING_MASK;
}

/* 48 bits. Each list has a new random seed: two blocks with one hash spoil a transfer, but not the
 * next one, and nobody can make such a pair. */
uint64_t rolling_strong(const uint8_t *data, uint32_t block, uint64_t seed);

#endif
