/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paces packets of many flows on one core: each flow has a rate and a burst (XTP's rules, credit.h)
 * and, if asked for, a traffic contract (contract.h); its packets wait in order and are released
 * when both allow it, to the cycle. A packet is any pointer; with DPDK, an mbuf. doc/pacing.md
 * shows how to use it in a program of one's own.
 *
 * - A flow costs 73 bytes, its first two waiting packets included, and 121 with contracts; a pacer
 *   besides, by the number of flows, 0.4 to 2.7 MB (doc/pacing.md). Where more than two packets
 *   wait, those behind the first lie in cache lines of 8. All of it is the caller's storage;
 *   nothing is allocated later.
 * - Flows that are due together take turns, first come first served, at most PACER_TURN packets or
 *   one burst each. What becomes due while a poll cannot take it is not lost but late; what was not
 *   sent in an RTIMER because nothing was there to send is lost, as the rules say.
 * - burst 0: no limit; rate 0 (and burst > 0): packets wait for another rate.
 * - Time is a parameter: `now` is in cycles of the hz in the configuration, and never goes back.
 *
 * Written and read by the worker that owns it. Errors: what only a broken program does aborts.
 */
#ifndef SLUICE_PACE_PACER_H
#define SLUICE_PACE_PACER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "pace/chunk.h"
#include "pace/credit.h"

#define PACER_FLOWS_MAX (1u << 22)
#define PACER_LINES_MAX (1u << 23)
#define PACER_LEN_MAX   65535u /* bytes */
#define PACER_TURN      16u    /* packets */
#define PACER_DUE       96u    /* flows taken off the wheel at once */
#define PACER_DUE_SPARE 96u    /* what that may write behind them */

struct contract;
struct wheel;

/* A flow and its first packets, in a cache line. The pacer's own, as struct pacer. */
struct pacer_flow {
    struct credit credit;
    /* The packets that wait, as pacer_word(). If there are more than two, head[1] is PACER_QUEUE
     * and the second one's position in a queue, and more_last that of the last one, else 0; if
     * there is none, head[1] is PACER_QUEUE. */
    uint64_t head[2];
    uint32_t more_last;
    uint32_t position; /* the wheel's */
};
static_assert(sizeof(struct pacer_flow) == 64, "a flow is a cache line");

struct pacer {
    struct pacer_flow *flows;
    struct wheel *wheel;
    struct contract *contracts; /* NULL: none has one */
    uint64_t hz;
    uint32_t n_flows;
    uint32_t alone; /* 1 + the flow that was due alone and waits outside of the wheel; 0: none */
    uint64_t alone_tsc;       /* when it may send */
    uint32_t due_at, due_end; /* of due, those whose turn it is */
    struct chunk_pool pool;
    uint32_t due[PACER_DUE + PACER_DUE_SPARE]; /* flows taken off the wheel */
};

/* A packet's length below its address. */
#define PACER_LEN_BITS 16
#define PACER_QUEUE    (1ull << 63) /* so is no packet's word */

static inline uint64_t pacer_word(const void *packet, uint32_t len_bytes)
{
    return (uint64_t)(uintptr_t)packet << PACER_LEN_BITS | len_bytes;
}

static inline void *pacer_word_packet(uint64_t word)
{
    return (void *)(uintptr_t)(word >> PACER_LEN_BITS); /* NOLINT(performance-no-int-to-ptr) */
}

static inline uint16_t pacer_word_len(uint64_t word)
{
    return (uint16_t)word;
}

struct pacer_config {
    uint32_t flows; /* 1 .. PACER_FLOWS_MAX; numbered from 0 */
    uint32_t lines; /* for packets of flows where more than two wait, up to PACER_LINES_MAX */
    uint64_t hz;    /* cycles a second, 1 .. 2^40 */
    bool contracts; /* flows may have them */
};

size_t pacer_storage_bytes(const struct pacer_config *cfg);

/* storage is aligned to 64 (hugepages are worth their while beyond 10^5 flows) and lives as long as
 * the pacer, which lies in it. All flows start at rate 0. */
struct pacer *pacer_init(void *storage, const struct pacer_config *cfg, uint64_t now);

/* The flow's rate and burst from now on, in bytes of the lengths that pacer_push() is told; packets
 * that wait are released accordingly. rate_Bps: 0 .. 2^48, burst_bytes: 0 .. 2^40. */
void pacer_flow_set(struct pacer *p, uint32_t flow, uint64_t rate_Bps, uint64_t burst_bytes,
                    uint64_t now);

/* The flow's contract from now on, in place of what it had. NULL: none. */
void pacer_flow_contract(struct pacer *p, uint32_t flow, const struct contract *c, uint64_t now);

/* pacer_push() to a flow that has none or two that wait. */
bool pacer_push_other(struct pacer *p, uint32_t flow, uint64_t word, uint64_t now);

/* Adds a packet of 1 .. PACER_LEN_MAX bytes to the flow; packet is not NULL and below 2^47, as
 * addresses are. False: all lines are in use, and the packet remains the caller's. */
static inline bool pacer_push(struct pacer *p, uint32_t flow, void *packet, uint32_t len_bytes,
                              uint64_t now)
{
    struct pacer_flow *f = &p->flows[flow];
    uint64_t word = pacer_word(packet, len_bytes);

    CHECK(flow < p->n_flows && ((uintptr_t)packet - 1) >> 47 == 0 && len_bytes - 1 < PACER_LEN_MAX);
    if (__builtin_expect(f->head[1] != 0, 0))
        return pacer_push_other(p, flow, word, now);
    f->head[1] = word;
    return true;
}

/* Takes up to max packets that may go now, in the order in which they may, and returns how many.
 * More may go if it returned max, or if pacer_next() is not after now. */
uint32_t pacer_poll(struct pacer *p, uint64_t now, void **packets, uint32_t max);

/* Takes up to max packets of a flow, whenever they were due: to end it. */
uint32_t pacer_drain(struct pacer *p, uint32_t flow, void **packets, uint32_t max);

/* No packet may go before; TIME_NEVER if none waits. Polling then makes progress (wheel.h). */
uint64_t pacer_next(const struct pacer *p);

#endif
