/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happened lately: a ring of events, always on. Nothing is noted per packet: what may come in
 * numbers (NAKs, grants that change) is noted when it has changed much, or for the first time in
 * TRACE_PAUSE_NS.
 *
 * Invariant: event number n stands at ring[n % TRACE_EVENTS] while count - TRACE_EVENTS < n <
 * count; the one before is being overwritten. One writer: the worker, or control for its own ring.
 * Readers may be any thread, and the handler of a fatal signal.
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
#define TRACE_SHIFT    3u /* rates that differ by less than 1/8 are the same */
#define TRACE_TEXT_MAX 192
#define TRACE_NO_CONN  UINT32_MAX

/* X(id, name, meaning of why, of a, of b); "": none. Units stand last. */
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
    X(STALL, "control-stands", "", "quiet_ns", "")                                                 \
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
    uint32_t conn; /* TRACE_NO_CONN: of none */
    uint16_t what; /* enum trace_what */
    uint16_t why;
    uint64_t a, b;
};
static_assert(sizeof(struct trace_event) == 32, "two in a cache line");

struct trace {
    uint64_t count; /* of events so far */
    uint64_t ring[TRACE_EVENTS][4];
} __attribute__((aligned(64)));

static inline void trace_add(struct trace *t, uint64_t time, enum trace_what what, uint32_t conn,
                             uint16_t why, uint64_t a, uint64_t b)
{
    uint64_t n = t->count, *slot = t->ring[n % TRACE_EVENTS];

    __atomic_thread_fence(__ATOMIC_RELEASE); /* the count before this event, then its words */
    counter_set(&slot[0], time);
    counter_set(&slot[1], (uint64_t)conn << 32 | (uint64_t)what << 16 | why);
    counter_set(&slot[2], a);
    counter_set(&slot[3], b);
    __atomic_store_n(&t->count, n + 1, __ATOMIC_RELEASE);
}

/* How many events there were. */
uint64_t trace_count(const struct trace *t);
/* Event number n; false if it is not known any more, or not yet. */
bool trace_read(const struct trace *t, uint64_t n, struct trace_event *out);
/* The oldest that is surely known. */
uint64_t trace_first(const struct trace *t);

const char *trace_name(enum trace_what what);
/* "conn 3 grant reason=probe rate_Bps=... burst_bytes=..." into out, cut to size (> 0); returns its
 * length. Calls nothing that a signal handler may not. */
size_t trace_text(const struct trace_event *e, char *out, size_t size);

#endif
