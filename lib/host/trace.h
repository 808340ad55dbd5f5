/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recent events, in a ring that is always on. Nothing is noted per packet. An event that may be
 * frequent (a NAK, a grant that changes) is noted only if its value has changed much, or if none
 * was noted for TRACE_PAUSE_NS.
 *
 * Invariant: event number n is at ring[n % TRACE_EVENTS] while count - TRACE_EVENTS < n < count;
 * the event before those is being overwritten. Written by one thread: the worker, or control for
 * its own ring. Read by any thread, and by the handler of a fatal signal.
 */
#ifndef SLUICE_HOST_TRACE_H
#define SLUICE_HOST_TRACE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"

#define TRACE_EVENTS   1024u
#define TRACE_PAUSE_NS 10000000ull
#define TRACE_SHIFT    3u /* rates that differ by less than 1/8 count as equal */
#define TRACE_TEXT_MAX 192
#define TRACE_NO_CONN  UINT32_MAX

/* X(id, name, meaning of why, of a, of b); "": unused. Names end in their unit. */
/* clang-format off */
#define TRACE_KINDS(X)                                                                             \
    X(OPENED, "opened", "service", "peer", "peer_low")                                             \
    X(ENDED, "ended", "end", "errno", "rx_bytes")                                                  \
    X(GRANT, "grant", "reason", "rate_Bps", "burst_bytes")                                         \
    X(GRANTED, "granted", "reason", "rate_Bps", "burst_bytes")                                     \
    X(NAK_SENT, "nak-sent", "spans", "naks", "lost")                                               \
    X(NAK_CAME, "nak-came", "spans", "naks", "recoveries")                                         \
    X(SILENCE, "silence", "step", "quiet_ns", "")                                                  \
    X(UNIT, "path-drops", "", "dropped_unit_bytes", "unit_bytes")                                  \
    X(STALL, "control-stalls", "", "quiet_ns", "")                                                 \
    X(RUNS, "control-runs", "", "", "")                                                            \
    X(OVERRUN, "overrun", "", "packets", "capacity_Bps")
/* clang-format on */

enum trace_what {
#define X(id, name, why, a, b) TRACE_##id,
    TRACE_KINDS(X)
#undef X
        TRACE_WHATS
};

struct trace_event {
    uint64_t time; /* in the writer's cycles */
    uint32_t conn; /* TRACE_NO_CONN: of no connection */
    uint16_t what; /* enum trace_what */
    uint16_t why;
    uint64_t a, b;
};
static_assert(sizeof(struct trace_event) == 32, "two in a cache line");

struct trace {
    uint64_t count; /* events so far */
    uint64_t ring[TRACE_EVENTS][4];
} __attribute__((aligned(64)));

static inline void trace_add(struct trace *t, uint64_t time, enum trace_what what, uint32_t conn,
                             uint16_t why, uint64_t a, uint64_t b)
{
    uint64_t n = t->count, *slot = t->ring[n % TRACE_EVENTS];

    __atomic_thread_fence(__ATOMIC_RELEASE); /* readers that see a word of this event also see the
                                                old count, or a newer one */
    counter_set(&slot[0], time);
    counter_set(&slot[1], (uint64_t)conn << 32 | (uint64_t)what << 16 | why);
    counter_set(&slot[2], a);
    counter_set(&slot[3], b);
    __atomic_store_n(&t->count, n + 1, __ATOMIC_RELEASE);
}

/* How many events there were so far. */
uint64_t trace_count(const struct trace *t);
/* Reads event number n. False if it is overwritten already, or not yet written. */
bool trace_read(const struct trace *t, uint64_t n, struct trace_event *out);
/* Number of the oldest event that is not being overwritten. */
uint64_t trace_first(const struct trace *t);

const char *trace_name(enum trace_what what);
/* Writes the event into out, cut to size (> 0), as "conn 3 grant reason=probe rate_Bps=...
 * burst_bytes=..."; returns its length. Calls nothing that a signal handler may not. */
size_t trace_text(const struct trace_event *e, char *out, size_t size);

#endif
