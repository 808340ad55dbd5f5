/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many queues of 64-bit words in one pool of cache lines, 8 words to a line. A walk of a queue
 * reads whole lines, not words scattered over memory.
 *
 * A position names a word: line * 8 + 0 .. 7. Line 0 is never used; position 0 means none.
 *
 * Written and read by the worker that owns the pool.
 */
#ifndef SLUICE_PACE_CHUNK_H
#define SLUICE_PACE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

#define CHUNK_WORDS      8u
#define CHUNK_LINE_BYTES 72u        /* of storage for a line, its link included */
#define CHUNK_POOL_MAX   (1u << 24) /* lines */
#define CHUNK_NO_OWNER   0xffffu    /* owner of a free line */
#define CHUNK_EMPTY      ((struct chunk_queue){0, 7})

/* Positions of the first and last word; {0, 7} when empty, so that the next word needs a line. */
struct chunk_queue {
    uint32_t first, last;
};

/* The links of a line. They are not in it, so that a walk can prefetch the next lines. */
struct chunk_link {
    uint64_t next : 24;
    uint64_t prev : 24;
    uint64_t owner : 16; /* as given to chunk_append(); CHUNK_NO_OWNER: the line is free */
};

struct chunk_pool {
    uint64_t *words;          /* 8 a line */
    struct chunk_link *links; /* one a line */
    uint32_t lines;
    uint32_t fresh; /* lines from here on were never used */
    uint32_t free;  /* head of the list of lines given back, linked by next; 0: none */
    uint32_t taken; /* lines in use */
};

/* storage: CHUNK_LINE_BYTES for each line, aligned to 64; lines < CHUNK_POOL_MAX includes the first
 * one, which is never used. */
static inline void chunk_pool_init(struct chunk_pool *p, void *storage, uint32_t lines)
{
    p->words = (uint64_t *)storage;
    p->links = (struct chunk_link *)(p->words + (size_t)lines * CHUNK_WORDS);
    p->lines = lines;
    p->links[0] = (struct chunk_link){0, 0, CHUNK_NO_OWNER}; /* a look ahead ends at line 0 */
    p->fresh = 1;
    p->free = p->taken = 0;
}

static inline struct chunk_link *chunk_link(const struct chunk_pool *p, uint32_t line)
{
    return &p->links[line];
}

static inline bool chunk_queue_empty(const struct chunk_queue *q)
{
    return q->first == 0;
}

/* Does the next word need a new line? */
static inline bool chunk_queue_full(const struct chunk_queue *q)
{
    return (q->last & 7) == 7;
}

/* Can chunk_append() on any queue succeed? */
static inline bool chunk_pool_has(const struct chunk_pool *p)
{
    return p->taken + 1 < p->lines;
}

static inline uint32_t chunk_take(struct chunk_pool *p)
{
    uint32_t line = p->free;

    if (line != 0)
        p->free = chunk_link(p, line)->next;
    else
        line = p->fresh++;
    CHECK(line < p->lines);
    p->taken++;
    return line;
}

static inline void chunk_give(struct chunk_pool *p, uint32_t line)
{
    *chunk_link(p, line) = (struct chunk_link){p->free, 0, CHUNK_NO_OWNER};
    p->free = line;
    p->taken--;
}

/* Adds a line to a queue that has none, or whose last line is full; the next word goes to last + 1.
 * The pool must have room: chunk_pool_has(), or enough by design. */
static inline void chunk_grow(struct chunk_pool *p, struct chunk_queue *q, uint32_t owner)
{
    uint32_t line = chunk_take(p);
    struct chunk_link link = {0, q->first != 0 ? q->last >> 3 : 0, owner};

    *chunk_link(p, line) = link;
    if (q->first == 0)
        q->first = line * 8;
    else
        chunk_link(p, q->last >> 3)->next = line;
    q->last = line * 8 - 1;
}

/* Appends a word. Returns its position. */
static inline uint32_t chunk_append(struct chunk_pool *p, struct chunk_queue *q, uint64_t word,
                                    uint32_t owner)
{
    if (chunk_queue_full(q))
        chunk_grow(p, q, owner);
    p->words[++q->last] = word;
    return q->last;
}

/* Removes and returns the first word; the queue must not be empty. */
static inline uint64_t chunk_shift(struct chunk_pool *p, struct chunk_queue *q)
{
    uint32_t at = q->first;
    uint64_t word = p->words[at];

    if (at == q->last) {
        *q = CHUNK_EMPTY;
        chunk_give(p, at >> 3);
    } else if ((at & 7) == 7) {
        q->first = (uint32_t)chunk_link(p, at >> 3)->next * 8;
        chunk_give(p, at >> 3);
    } else {
        q->first = at + 1;
    }
    return word;
}

/* Removes the word at this position. The queue's last word, which may be the same one, takes its
 * place and is returned. */
static inline uint64_t chunk_remove(struct chunk_pool *p, struct chunk_queue *q, uint32_t at)
{
    uint32_t last = q->last;
    uint64_t moved = p->words[last];

    p->words[at] = moved;
    if (last == q->first) {
        *q = CHUNK_EMPTY;
        chunk_give(p, last >> 3);
    } else if ((last & 7) == 0) {
        q->last = (uint32_t)chunk_link(p, last >> 3)->prev * 8 + 7;
        chunk_give(p, last >> 3);
    } else {
        q->last = last - 1;
    }
    return moved;
}

#endif
