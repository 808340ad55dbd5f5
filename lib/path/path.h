/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A path: what a network does to packets, as a chain of elements made from one line of text
 * (doc/path.md explains the words). Packets go through the elements in the order written:
 *
 *   rate 100mbit limit 250kB delay 20ms 2ms loss 0.1%
 *
 * Time inside a path is exact and does not depend on when it is polled. Each packet carries its own
 * time from element to element. Every element handles arrivals and departures in the order of their
 * times; within one cycle, departures come first. So the fate and the times of packets depend only
 * on spec, seed and arrival times. A late poll delays packets only where they leave the path.
 *
 * Invariants: packets in = packets out + dropped + held - copies made - sent by a hop. A packet
 * leaves no earlier than its arrival plus what the elements add. path_pop() gives packets in the
 * order of their times. At most packets_max are held; arrivals beyond it are dropped and counted.
 *
 * Owned by one thread; any thread may read the counters.
 */
#ifndef SLUICE_PATH_PATH_H
#define SLUICE_PATH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"

#define PATH_SPEC_MAX_BYTES 4096u
#define PATH_PACKETS_MAX    (1u << 24)

struct path;

struct path_config {
    uint64_t hz;          /* cycles per second of every `now` */
    uint64_t seed;        /* same seed, same fates */
    uint32_t packets_max; /* held at once, 1 .. PATH_PACKETS_MAX */
    /* for copies (`duplicate`) and RCNTL packets (`hop`); whole frames fit */
    struct rte_mempool *pool;
    /* Frames of at most so many bytes may be kept as bytes, outside mbufs, while they wait: their
     * mbufs are given back, and they leave in other mbufs of `pool`. A frame whose mbuf holds more
     * than its bytes (offload flags, segments) stays in its mbuf. 0: every packet leaves in the
     * mbuf it came in. Must be 0 or a multiple of 64. */
    uint32_t compact_bytes;
    /* The number of this path among several of one spec, which flows are divided among. Each draws
     * random numbers of its own, also if the spec has a seed. */
    uint32_t copy;
};

/*
 * Returns NULL on failure, with a message in err that names the position, the word, and the nearest
 * valid word. An empty spec is a wire: no delay, no loss. Times in the spec ("at 10s ...") count
 * from `now`. Reads the files that the spec names, and allocates all it will ever need.
 */
struct path *path_create(const char *spec, const struct path_config *cfg, uint64_t now, char *err,
                         size_t err_len);
/* Also frees the packets that the path holds. */
void path_destroy(struct path *p);

/*
 * The first element, as written, whose treatment of a packet depends on packets of other flows: a
 * link, a queue, a chance that is correlated. NULL: there is none, so each flow meets the same
 * network if flows are divided among several paths of this spec. A flow here is what "each flow"
 * tells apart. Only "max" of that element then holds for each path.
 */
const char *path_common(const struct path *p);

/*
 * n packets arrive at `now`; the path then owns them. Elements that change bytes (corrupt, ECN
 * marks, tags, hop) do so in place: packets must be writable, their buffers not shared. From one
 * call on a path to the next, of this function or another, `now` never decreases.
 */
void path_push(struct path *p, struct rte_mbuf **m, uint16_t n, uint64_t now);

/* Gives at most `max` packets whose time has come, in the order of their times; the caller owns
 * them. If the result is `max`, more may be due. */
uint16_t path_pop(struct path *p, struct rte_mbuf **m, uint16_t max, uint64_t now);
/* Like path_pop(). at[i] is when packet i should have left, at most `now`. */
uint16_t path_pop_times(struct path *p, struct rte_mbuf **m, uint64_t *at, uint16_t max,
                        uint64_t now);

/* When to call path_pop() next: no later than the next packet's time. A time that has passed if a
 * packet is ready; TIME_NEVER if nothing will come without a push. */
uint64_t path_next(const struct path *p);

/* ---- what people see ------------------------------------------------------------------------ */

struct path_counts {
    uint64_t in_packets, in_bytes, out_packets, out_bytes;
    uint64_t drop_full;    /* arrived beyond packets_max */
    uint64_t drop_no_mbuf; /* pool empty, or packets_max held, when an mbuf was needed */
    uint64_t held_packets; /* now */
};
const struct path_counts *path_counts(const struct path *p);

/* Counters of an element: X(name). Meanings: doc/path.md. */
#define PATH_ELEMENT_COUNTERS(X)                                                                   \
    X(in_packets)                                                                                  \
    X(in_bytes)                                                                                    \
    X(out_packets)                                                                                 \
    X(out_bytes)                                                                                   \
    X(dropped)                                                                                     \
    X(dropped_bytes)                                                                               \
    X(marked)                                                                                      \
    X(copied)                                                                                      \
    X(copied_bytes)                                                                                \
    X(changed)                                                                                     \
    X(reordered)                                                                                   \
    X(shared)                                                                                      \
    X(cells)                                                                                       \
    X(cells_excess)                                                                                \
    X(queued_packets)                                                                              \
    X(queued_bytes)                                                                                \
    X(queued_packets_max)                                                                          \
    X(queued_bytes_max)

struct path_element_counts {
#define X(name) uint64_t name;
    PATH_ELEMENT_COUNTERS(X)
#undef X
};

struct path_element_info {
    const char *kind; /* "delay" */
    const char *text; /* as written in the spec, from its kind to its last option */
    uint32_t depth;   /* how many parentheses surround it */
    /* In the chain of an "each": which copy of the chain, from 0; elsewhere 0. If that "each" is
     * itself in copy i of another's chain, its N ("max N") copies are i * N to i * N + N - 1. */
    uint32_t instance;
    const struct path_element_counts *counts;
    const struct histogram *delay; /* cycles spent in the element; NULL if it holds nothing */
    /* packets waiting at each time of arrival; NULL if the element holds nothing */
    const struct histogram *queue;
};

/* Describes element i. Elements are in the order written; those inside parentheses follow the one
 * that opens them. False if there is no element i. out_packets and out_bytes are computed by this
 * call (in + copied - dropped - queued): call again for current ones. */
bool path_element(const struct path *p, uint32_t i, struct path_element_info *out);

#endif
