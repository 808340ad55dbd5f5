/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paces packets of many flows on one core. Each flow has a rate and a burst (XTP's rules, credit.h)
 * and, if asked for, a traffic contract (contract.h). Its packets wait in order; each is released
 * in the cycle in which credit and contract allow it. A packet is any pointer; with DPDK, an mbuf.
 * doc/pacing.md shows how to use a pacer in another program.
 *
 * - A flow takes 73 bytes, including its first two waiting packets, or 121 with contracts. The
 *   pacer itself takes 0.4 to 2.7 MB, by the number of flows (doc/pacing.md). If more than two
 *   packets of a flow wait, those behind the first lie in cache lines of 8. All of it is the
 *   caller's storage; nothing is allocated later.
 * - Flows that are due together take turns, first come first served, of at most PACER_TURN packets
 *   or one burst. Packets that are due but do not fit in a poll are late, not lost. Credit that was
 *   not used in an RTIMER because no packet waited is lost, as the rules say.
 * - burst 0: no limit; rate 0 (and burst > 0): packets wait for another rate.
 * - Time is a parameter: `now` is in cycles of the hz in the configuration, and never goes back.
 *
 * Written and read by the worker that owns it. Calls that only a broken program makes abort.
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
#define PACER_DUE_SPARE 96u    /* room behind them that wheel_take() and wheel_peek() overwrite */

struct contract;
struct wheel;

/* A flow and its first packets, in a cache line. Private to the pacer, as struct pacer is. */
struct pacer_flow {
    struct credit credit;
    /* The waiting packets, as pacer_word(). None: head[1] is PACER_QUEUE. More than two: head[1] is
     * PACER_QUEUE | the second one's position in a queue, and more_last is the last one's position.
     * Up to two: more_last is 0. */
    uint64_t head[2];
    uint32_t more_last;
    uint32_t position; /* in the wheel; written by the wheel */
};
static_assert(sizeof(struct pacer_flow) == 64, "a flow is a cache line");

struct pacer {
    struct pacer_flow *flows;
    struct wheel *wheel;
    struct contract *contracts; /* NULL: no flow has one */
    uint64_t hz;
    uint32_t n_flows;
    uint32_t alone;     /* 1 + the flow that was due alone and waits outside the wheel; 0: none */
    uint64_t alone_tsc; /* when the flow that is alone may send */
    uint32_t due_at, due_end; /* flows of due[] whose turn it is */
    struct chunk_pool pool;
    uint32_t due[PACER_DUE + PACER_DUE_SPARE]; /* flows taken off the wheel */
};

/* The word of a packet: its length below its address. */
#define PACER_LEN_BITS 16
#define PACER_QUEUE    (1ull << 63) /* a bit that no packet's word has */

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
    uint32_t lines; /* of 8 packets, for flows with more than two waiting; up to PACER_LINES_MAX */
    uint64_t hz;    /* cycles a second, 1 .. 2^40 */
    bool contracts; /* flows may have contracts */
};

size_t pacer_storage_bytes(const struct pacer_config *cfg);

/* storage is aligned to 64 (hugepages pay off beyond 10^5 flows) and lives as long as the pacer,
 * which lies in it. All flows start at rate 0. */
struct pacer *pacer_init(void *storage, const struct pacer_config *cfg, uint64_t now);

/* Sets the flow's rate and burst from now on, also for packets that wait. Bytes are counted by the
 * lengths given to pacer_push(). rate_Bps: 0 .. 2^48, burst_bytes: 0 .. 2^40. */
void pacer_flow_set(struct pacer *p, uint32_t flow, uint64_t rate_Bps, uint64_t burst_bytes,
                    uint64_t now);

/* Sets the flow's contract from now on, in place of the old one. NULL: none. */
void pacer_flow_contract(struct pacer *p, uint32_t flow, const struct contract *c, uint64_t now);

/* pacer_push() to a flow in which no packet waits, or more than one. */
bool pacer_push_other(struct pacer *p, uint32_t flow, uint64_t word, uint64_t now);

/* Adds a packet of 1 .. PACER_LEN_MAX bytes to the flow. `packet` is not NULL, and below 2^47 as
 * user space is. False: all lines are in use, and the packet remains the caller's. */
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

/* Takes up to max packets of a flow, whether due or not, to end the flow. */
uint32_t pacer_drain(struct pacer *p, uint32_t flow, void **packets, uint32_t max);

/* Returns a time before which no packet may go; TIME_NEVER if none waits. A poll at that time makes
 * progress (wheel.h). */
uint64_t pacer_next(const struct pacer *p);

#endif
