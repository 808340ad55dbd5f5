/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hierarchical timing wheel for everything of one worker that waits for a time: a million flows,
 * or timers, without allocation.
 *
 * Entries are numbers 0 .. capacity-1, chosen by the caller; an entry is queued at most once. Time
 * is counted in units of 2^shift cycles. An entry's time is rounded up to whole units; at shift 0
 * it is exact to the cycle. The first wheel_poll() with now >= that time returns the entry, unless
 * the poll has more to do than it may (see wheel_poll()). No earlier poll returns it.
 *
 * A time further away than WHEEL_HORIZON units (7 minutes at shift 0 and 2.5 GHz) is cut to the
 * horizon: the entry is returned then, and the caller sees that its time has not come and queues it
 * again.
 *
 * Insert, move and cancel are O(1). Entries come out in the order of their slots, which are 512
 * units wide. Within a slot they are first in, first out, with one exception: in slots further
 * away, the last entry takes the place of one that is moved or cancelled. An entry that is moved to
 * the time it already has keeps its turn.
 *
 * An entry may be inserted between polls, with any time. A poll whose `now` is before that of an
 * earlier poll returns nothing.
 *
 * The design: three rings of slots. The entries of a slot lie together in cache lines. So to take
 * them, or to move them down a ring, is to read whole lines, not entries scattered over memory. In
 * the first ring a slot is two lines with 30 entries of 32 bits: an entry's number, and its time
 * within the slot. With few entries it is four lines with 62: then there are few slots to append
 * to, and the lines where they end stay in the first-level cache. Entries that come when a slot is
 * full, and entries further away, lie in lines of 8 with their whole time, from one pool (chunk.h).
 * Entries that will be due soon are moved down a ring well before, a few in each poll. The memory
 * of their owner is not touched for that, only prefetched.
 *
 * Sources: G. Varghese and T. Lauck, "Hashed and hierarchical timing wheels", SOSP 1987; A. Saeed
 * et al., "Carousel", SIGCOMM 2017 and "Eiffel", NSDI 2019 (find-first-set over slots).
 *
 * Written and read by the worker that owns it.
 */
#ifndef SLUICE_PACE_WHEEL_H
#define SLUICE_PACE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pace/bits.h"
#include "pace/chunk.h"

#define WHEEL_LEVELS         3u
#define WHEEL_NEAR_SLOTS_MIN 1024u /* slots of level 0, at least; a power of two, by capacity */
#define WHEEL_NEAR_SLOTS_MAX 16384u
#define WHEEL_NEAR_BITS      9u    /* log2 of the units of a slot of level 0 */
#define WHEEL_ROOM_BITS      5u    /* log2 of the words that a slot of level 0 has room for */
#define WHEEL_ROOM_BITS_FEW  6u    /* WHEEL_ROOM_BITS in a wheel of few entries */
#define WHEEL_SLOTS          4096u /* slots of each level from 1 on */
#define WHEEL_SLOT_BITS(l)   (6 + 11 * (l)) /* log2 of the units of a slot of level l, 1 and up */
#define WHEEL_CAPACITY_MAX   (1u << 22)     /* entries */
#define WHEEL_HORIZON        ((1ull << 40) - (1ull << 30)) /* units */
#define WHEEL_SHIFT_MAX      20u

/* How far the lines of a slot that is moved down have been prefetched. */
struct wheel_warm {
    uint64_t front; /* start of the slot */
    uint32_t line;  /* the next line to prefetch, 0 if none is left */
};

struct wheel {
    uint64_t near;                /* units; no entry is due before this */
    uint64_t now;                 /* units; all entries due before this have been returned */
    uint64_t near_end;            /* entries queued for a time before this go to level 0 */
    uint64_t front[WHEEL_LEVELS]; /* levels l and up have no entry due before front[l], l > 0 */
    uint32_t shift;
    uint32_t capacity;
    uint32_t room_bits;    /* log2 of the words that a slot of level 0 has room for */
    uint32_t near_mask;    /* number of slots of level 0, less one */
    uint32_t place_bits;   /* low bits of a position that name a word of the pool (wheel_near.h) */
    uint32_t stride_bytes; /* from one entry's position to the next */
    uint32_t *position;    /* where entry 0's position is; the value 0: not queued */
    bool behind;           /* the fronts are not yet where they should be */
    struct chunk_pool pool;
    struct wheel_warm warm[WHEEL_LEVELS - 1]; /* [0]: level 1, as in the arrays below */
    uint64_t summary[WHEEL_LEVELS - 1][BITS_SUMMARY(WHEEL_SLOTS)]; /* of `used` (bits.h) */
    uint64_t used[WHEEL_LEVELS - 1][BITS_WORDS(WHEEL_SLOTS)];      /* slots in use */
    struct chunk_queue far[WHEEL_LEVELS - 1][WHEEL_SLOTS];
    uint8_t count[WHEEL_NEAR_SLOTS_MAX]; /* words in use of each slot of level 0; one more than
                                            the slot has: its queue is in use, too */
    uint32_t words[] __attribute__((aligned(64))); /* slots of level 0 */
};

/* Bytes of storage for so many entries: 13 each; 63 more for each of the first 8192, which may each
 * need a line of their own; and for slots 350 kB with up to 2048 entries, 1.1 MB with 8192 to
 * 65536, and 2.2 MB with more. */
size_t wheel_storage_bytes(uint32_t capacity);

/* storage is the caller's, aligned to 64, and lives as long as the wheel, which lies in it. */
struct wheel *wheel_init(void *storage, uint32_t capacity, uint32_t shift, uint64_t now);

/*
 * As wheel_init(), but entries' positions are in memory of the caller, 4 bytes each: the first at
 * `position`, the others stride_bytes (a multiple of 4) apart. They cost nothing in a cache line
 * that the owner touches anyway when an entry is due and queued again.
 */
size_t wheel_placed_bytes(uint32_t capacity);
struct wheel *wheel_init_placed(void *storage, uint32_t capacity, uint32_t shift, uint64_t now,
                                uint32_t *position, uint32_t stride_bytes);

/* Queues or moves an entry; a time in the past is due at once. TIME_NEVER cancels. */
void wheel_insert(struct wheel *w, uint32_t entry, uint64_t when_tsc);
void wheel_cancel(struct wheel *w, uint32_t entry);

static inline uint32_t *wheel_position(const struct wheel *w, uint32_t entry)
{
    return (uint32_t *)((char *)w->position + (size_t)entry * w->stride_bytes);
}

static inline bool wheel_queued(const struct wheel *w, uint32_t entry)
{
    CHECK(entry < w->capacity);
    return *wheel_position(w, entry) != 0;
}

/*
 * Takes up to max entries due at now off the wheel and returns how many. Its work is bounded: it
 * moves at most 2 * max + 64 entries down a ring, and looks at those in the slot of `now`. If it
 * returned any, or if wheel_next() is not after now, more may be due: call again.
 */
uint32_t wheel_poll(struct wheel *w, uint64_t now, uint32_t *entries, uint32_t max);

/*
 * The earliest entry's time if that is near (within 2^18 units), else a time not later; TIME_NEVER
 * when empty. A poll at that time always makes progress: the poll returns an entry or moves some
 * closer.
 */
uint64_t wheel_next(struct wheel *w);

#endif
