/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A path: what a network does to packets, as a chain of elements made from one line of text
 * ("rate 100mbit limit 250kB delay 20ms 2ms loss 0.1%"; doc/path.md has the words). Packets go
 * through the elements in the order in which they are written.
 *
 * Time is exact whatever the polls are: each packet carries its own time from element to element,
 * and every element sees its arrivals and does its releases in time order, departures before
 * arrivals of the same cycle. So the fate and the times of a packet sequence depend on (spec, seed,
 * arrival times) only, and a late poll makes packets late at the very end, not inside.
 *
 * Invariants: packets in = packets out + dropped + held - copies made - sent by a hop; a packet
 * leaves no earlier than its arrival plus what the elements add, and path_pop() gives packets in
 * the order of their times. packets_max bounds what is held; what exceeds it is dropped, counted.
 *
 * Owned by one thread; the counters may be read by any.
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
    uint64_t hz;              /* of `now` */
    uint64_t seed;            /* same seed, same fates */
    uint32_t packets_max;     /* held at once, 1 .. PATH_PACKETS_MAX */
    struct rte_mempool *pool; /* for copies (duplicate) and RCNTL (hop): whole frames fit */
    /* Frames of up to so many bytes may be kept as bytes where they wait in line, their mbufs given
     * back, and leave in other ones of pool; 0: every packet leaves in the mbuf it came in. Must be
     * 0 or a multiple of 64. What an mbuf says beside its bytes is kept: with such it stays. */
    uint32_t compact_bytes;
};

/*
 * NULL on failure, with a message in err that names the position, the word, and the nearest right
 * one. An empty spec is a wire: no delay, no loss. Times in the spec ("at 10s ...") count from now.
 * Reads the files that the spec names, allocates all it will ever need.
 */
struct path *path_create(const char *spec, const struct path_config *cfg, uint64_t now, char *err,
                         size_t err_len);
/* Frees the packets it holds. */
void path_destroy(struct path *p);

/*
 * n packets arrive now; the path owns them. Elements that change bytes (corrupt, ECN marks, tags,
 * hop) do so in place: packets must be writable, their buffers not shared. now never decreases
 * from call to call, here and below.
 */
void path_push(struct path *p, struct rte_mbuf **m, uint16_t n, uint64_t now);

/* Gives at most max packets whose time has come, in the order of their times; the caller owns
 * them. If it gives max, more may be due. */
uint16_t path_pop(struct path *p, struct rte_mbuf **m, uint16_t max, uint64_t now);
/* The same, and at[i] is packet i's time, at most now: when it should have left. */
uint16_t path_pop_times(struct path *p, struct rte_mbuf **m, uint64_t *at, uint16_t max,
                        uint64_t now);

/* When path_pop() must be called next: a time not later than the next packet's; a time that has
 * passed if one is ready; TIME_NEVER if nothing will come without a push. */
uint64_t path_next(const struct path *p);

/* ---- what people see ------------------------------------------------------------------------ */

struct path_counts {
    uint64_t in_packets, in_bytes, out_packets, out_bytes;
    uint64_t drop_full;    /* arrived beyond packets_max */
    uint64_t drop_no_mbuf; /* a copy or RCNTL was due, but the pool empty or packets_max held */
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
    const char *kind;  /* "delay" */
    const char *text;  /* as written in the spec, from its kind to its last option */
    uint32_t depth;    /* 0, or how many parentheses it stands in */
    uint32_t instance; /* of the flow it serves, inside "each"; else 0. In an "each max N" inside
                          another's flow i, that flow's are i * N to i * N + N - 1. */
    const struct path_element_counts *counts;
    const struct histogram *delay; /* cycles spent in the element; NULL if it holds nothing */
    const struct histogram *queue; /* packets found waiting at each time of arrival; likewise */
};

/* What left an element is what came and what it made, less what it dropped and what waits; it is
 * worked out here, so ask again for counts of now.
 * Elements in the order written; those inside parentheses follow the one that opens them. False
 * if there is no element i. */
bool path_element(const struct path *p, uint32_t i, struct path_element_info *out);

#endif
