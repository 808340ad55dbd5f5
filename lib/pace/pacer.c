/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pacer: a wheel says when it is a flow's turn; a cache line for each flow says what it may
 * send.
 *
 * Due flows are taken off the wheel for more than one poll. To take whole slots is less work, and
 * the memory of the flows whose turn comes next can be prefetched.
 *
 * Invariant: a flow is in the wheel, or in p->due[due_at .. due_end), or is p->alone, if and only
 * if packets of it wait and its rate will let them go at some time. If a flow is alone, p->due has
 * none. A flow in p->due has a position that the wheel does not know; a flow that is alone has
 * none. head[1] is PACER_QUEUE itself if and only if head[0] is 0. more_last is not 0 only if
 * head[1] has the position of a queue.
 */
#include "pace/pacer.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "pace/chunk.h"
#include "pace/contract.h"
#include "pace/credit.h"
#include "pace/wheel.h"
#include "pace/wheel_near.h"

/* How many turns ahead a flow's line is prefetched, and the first line of its packet. */
#define AHEAD_FEW    4u
#define AHEAD        WHEEL_AHEAD
#define AHEAD_PACKET 8u

static_assert(PACER_DUE_SPARE >= WHEEL_SPARE, "what wheel_take() and wheel_peek() write");

static size_t align_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t pacer_storage_bytes(const struct pacer_config *cfg)
{
    return align_up(sizeof(struct pacer)) + cfg->flows * sizeof(struct pacer_flow) +
           align_up(((size_t)cfg->lines + 1) * CHUNK_LINE_BYTES) +
           align_up(wheel_placed_bytes(cfg->flows)) +
           (cfg->contracts ? cfg->flows * sizeof(struct contract) : 0);
}

struct pacer *pacer_init(void *storage, const struct pacer_config *cfg, uint64_t now)
{
    struct pacer *p = storage;
    char *at = (char *)storage + align_up(sizeof *p);

    CHECK(cfg->flows > 0 && cfg->flows <= PACER_FLOWS_MAX && cfg->lines <= PACER_LINES_MAX);
    CHECK(cfg->hz > 0 && (uintptr_t)storage % 64 == 0);
    *p = (struct pacer){.hz = cfg->hz, .n_flows = cfg->flows};
    p->flows = (struct pacer_flow *)at;
    at += cfg->flows * sizeof *p->flows;
    chunk_pool_init(&p->pool, at, cfg->lines + 1);
    at += align_up(((size_t)cfg->lines + 1) * CHUNK_LINE_BYTES);
    for (uint32_t i = 0; i < cfg->flows; i++) {
        p->flows[i] = (struct pacer_flow){.head[1] = PACER_QUEUE};
        credit_init(&p->flows[i].credit, cfg->hz, 0, 1, now);
    }
    p->wheel = wheel_init_placed(at, cfg->flows, 0, now, &p->flows[0].position, sizeof *p->flows);
    at += align_up(wheel_placed_bytes(cfg->flows));
    if (cfg->contracts) {
        p->contracts = (struct contract *)at;
        for (uint32_t i = 0; i < cfg->flows; i++)
            p->contracts[i] = (struct contract){0};
    }
    return p;
}

static inline struct contract *flow_contract(const struct pacer *p, uint32_t flow)
{
    return p->contracts != NULL && p->contracts[flow].peak_cost != 0 ? &p->contracts[flow] : NULL;
}

/* When the flow's first packet may go; TIME_NEVER: not at this rate. Its credit was updated at
 * `now`. */
static inline uint64_t flow_next(const struct pacer_flow *f, const struct contract *c, uint64_t now)
{
    uint64_t when = credit_is_open(&f->credit) ? now : credit_opens(&f->credit);

    return c != NULL && when != TIME_NEVER ? contract_next(c, when) : when;
}

static inline void alone_forget(struct pacer *p, uint32_t flow)
{
    if (p->alone == flow + 1)
        p->alone = 0;
}

/* Removes the flow from p->due, if it is there: its turn has not come after all. */
static inline void due_forget(struct pacer *p, uint32_t flow)
{
    uint32_t i = p->due_at;

    if (p->flows[flow].position == 0)
        return;
    while (i < p->due_end && p->due[i] != flow)
        i++;
    if (i == p->due_end)
        return;
    memmove(&p->due[i], &p->due[i + 1], (p->due_end - i - 1) * sizeof *p->due);
    p->due_end--;
    wheel_forget(p->wheel, flow);
}

/* Queues the flow in the wheel or moves it, if packets wait. */
static void flow_move(struct pacer *p, uint32_t flow, uint64_t now)
{
    struct pacer_flow *f = &p->flows[flow];

    if (f->head[0] == 0)
        return;
    alone_forget(p, flow);
    due_forget(p, flow);
    credit_update(&f->credit, now);
    wheel_insert(p->wheel, flow, flow_next(f, flow_contract(p, flow), now));
}

void pacer_flow_set(struct pacer *p, uint32_t flow, uint64_t rate_Bps, uint64_t burst_bytes,
                    uint64_t now)
{
    CHECK(flow < p->n_flows);
    credit_set(&p->flows[flow].credit, p->hz, rate_Bps, burst_bytes, now);
    flow_move(p, flow, now);
}

void pacer_flow_contract(struct pacer *p, uint32_t flow, const struct contract *c, uint64_t now)
{
    CHECK(flow < p->n_flows && p->contracts != NULL);
    p->contracts[flow] = c != NULL ? *c : (struct contract){0};
    flow_move(p, flow, now);
}

/* The queue of the flow's packets behind the first; empty if at most one is behind it. */
static inline struct chunk_queue flow_more(const struct pacer_flow *f)
{
    return f->more_last != 0 ? (struct chunk_queue){(uint32_t)f->head[1], f->more_last}
                             : CHUNK_EMPTY;
}

bool pacer_push_other(struct pacer *p, uint32_t flow, uint64_t word, uint64_t now)
{
    struct pacer_flow *f = &p->flows[flow];
    struct chunk_queue more;

    if (f->head[0] == 0) {
        f->head[0] = word;
        f->head[1] = 0;
        flow_move(p, flow, now);
        return true;
    }
    more = flow_more(f);
    if (chunk_queue_full(&more) && !chunk_pool_has(&p->pool))
        return false;
    if (f->more_last == 0)
        chunk_append(&p->pool, &more, f->head[1], 0);
    chunk_append(&p->pool, &more, word, 0);
    f->head[1] = PACER_QUEUE | more.first;
    f->more_last = more.last;
    return true;
}

static inline void *flow_shift(struct pacer *p, struct pacer_flow *f)
{
    void *packet = pacer_word_packet(f->head[0]);

    if (f->more_last != 0) {
        struct chunk_queue more = {(uint32_t)f->head[1], f->more_last};

        f->head[0] = chunk_shift(&p->pool, &more);
        f->head[1] = more.first != 0 ? PACER_QUEUE | more.first : 0;
        f->more_last = more.first != 0 ? more.last : 0;
    } else {
        f->head[0] = f->head[1];
        f->head[1] = f->head[0] != 0 ? 0 : PACER_QUEUE;
    }
    return packet;
}

/* Runs a flow's turn and returns how many packets it sent; *next: its next turn, or TIME_NEVER. */
static uint32_t flow_turn(struct pacer *p, uint32_t flow, uint64_t now, void **packets,
                          uint32_t max, uint64_t *next)
{
    struct pacer_flow *f = &p->flows[flow];
    struct contract *c = flow_contract(p, flow);
    uint64_t when = TIME_NEVER;
    uint32_t n = 0;

    credit_update(&f->credit, now);
    while (f->head[0] != 0) {
        uint64_t len_bytes = pacer_word_len(f->head[0]);

        when = flow_next(f, c, now);
        if (when != now || n == max || n == PACER_TURN)
            break;
        if (f->credit.burst_bytes != 0)
            f->credit.credit_bytes -= (int64_t)len_bytes;
        if (c != NULL)
            contract_take(c, now, len_bytes);
        packets[n++] = flow_shift(p, f);
        when = TIME_NEVER;
    }
    *next = when;
    return n;
}

/* Runs the turn of a flow that is not in the wheel, and puts it back if packets remain. */
static __attribute__((noinline)) uint32_t flow_run(struct pacer *p, uint32_t flow, uint64_t now,
                                                   void **packets, uint32_t max)
{
    uint64_t when;
    uint32_t n = flow_turn(p, flow, now, packets, max, &when);

    if (when != TIME_NEVER)
        wheel_queue(p->wheel, flow, when);
    else
        wheel_forget(p->wheel, flow);
    return n;
}

/* Prefetches what the next turns will touch. If flows are few, they are in the cache and only their
 * packets are not; if flows are many, both come from memory. */
static inline __attribute__((always_inline)) void turn_prefetch(const struct pacer_flow *flows,
                                                                const uint32_t *due, bool many)
{
    if (many) {
        __builtin_prefetch(&flows[due[AHEAD]], 1);
        __builtin_prefetch(pacer_word_packet(flows[due[AHEAD_PACKET]].head[0]));
    } else {
        __builtin_prefetch(&flows[due[AHEAD_FEW]], 1);
        __builtin_prefetch(pacer_word_packet(flows[due[0]].head[0]));
    }
}

/*
 * Runs turns of the usual kind: a refresh lets one packet go, which takes that credit, and the next
 * refresh brings more. Does what flow_run() would do, with half of the work. Stops at a turn of
 * another kind, and returns how many of n it ran. Each flow whose turn it ran has sent one packet,
 * and has another.
 */
static inline __attribute__((always_inline)) uint32_t
turns_run_plain(struct pacer *p, const uint32_t *due, uint32_t n, uint64_t now, void **packets,
                uint32_t room_bits)
{
    struct pacer_flow *const flows = p->flows;
    struct wheel *const w = p->wheel;
    size_t i;

    wheel_hold(w);
    for (i = 0; i < n; i++) {
        struct pacer_flow *f = &flows[due[i]];
        struct credit *c = &f->credit;
        uint64_t word = f->head[0], next = f->head[1], len_bytes = pacer_word_len(word);
        uint64_t more_bytes, owes_bytes;

        turn_prefetch(flows, &due[i], room_bits != WHEEL_ROOM_BITS_FEW);
        if (__builtin_expect(now - c->refresh_tsc >= c->period_tsc, 0) && !credit_skip(c, now))
            break;
        /* usual: burst >= packet, and credit + burst is above 0 before the packet and not after */
        if (__builtin_sub_overflow(c->burst_bytes, len_bytes, &more_bytes))
            break;
        owes_bytes = -((uint64_t)c->credit_bytes + more_bytes);
        if (owes_bytes >= len_bytes)
            break;
        if (__builtin_expect((int64_t)next <= 0, 0)) /* no second packet, or a queue */
            break;
        c->credit_bytes = (int64_t)-owes_bytes;
        credit_rtimer(c);
        packets[i] = pacer_word_packet(word);
        f->head[0] = next;
        f->head[1] = 0;
        wheel_queue_later(w, due[i], c->refresh_tsc, &f->position, room_bits);
    }
    return (uint32_t)i;
}

/* Two copies, each with a constant room_bits: 5 % faster where all is in the cache. */
static __attribute__((noinline)) uint32_t few_run_plain(struct pacer *p, const uint32_t *due,
                                                        uint32_t n, uint64_t now, void **packets)
{
    return turns_run_plain(p, due, n, now, packets, WHEEL_ROOM_BITS_FEW);
}

static __attribute__((noinline)) uint32_t many_run_plain(struct pacer *p, const uint32_t *due,
                                                         uint32_t n, uint64_t now, void **packets)
{
    return turns_run_plain(p, due, n, now, packets, WHEEL_ROOM_BITS);
}

static inline bool flows_are_few(const struct pacer *p)
{
    return p->wheel->room_bits == WHEEL_ROOM_BITS_FEW;
}

/* Runs the turns of n flows. Each may send at least one packet, all together at most max. */
static uint32_t flows_run(struct pacer *p, const uint32_t *due, uint32_t n, uint64_t now,
                          void **packets, uint32_t max)
{
    uint32_t sent = 0, i, k;

    for (i = 0; i < n; i++) {
        if (p->contracts == NULL) {
            k = flows_are_few(p) ? few_run_plain(p, due + i, n - i, now, packets + sent)
                                 : many_run_plain(p, due + i, n - i, now, packets + sent);
            sent += k;
            i += k;
            if (i == n)
                break;
        }
        sent += flow_run(p, due[i], now, packets + sent, max - sent - (n - 1 - i));
    }
    return sent;
}

/* Runs the turn of a flow that is due alone and not in the wheel. It stays outside, for it may be
 * the only one in the next poll, too. */
static __attribute__((noinline)) uint32_t alone_run(struct pacer *p, uint32_t flow, uint64_t now,
                                                    void **packets, uint32_t max)
{
    uint32_t n = flow_turn(p, flow, now, packets, max, &p->alone_tsc);

    p->alone = p->alone_tsc != TIME_NEVER ? flow + 1 : 0;
    return n;
}

/* Refills p->due once it is empty: with due flows, and behind them flows to prefetch. Returns how
 * many are due. */
static inline uint32_t due_take(struct pacer *p, uint64_t now)
{
    p->due_at = 0;
    p->due_end = wheel_take(p->wheel, now, p->due, PACER_DUE);
    if (p->due_end > 0 && !flows_are_few(p))
        wheel_peek(p->wheel, p->due + p->due_end);
    return p->due_end;
}

/* Runs the turns of due flows, until all have had theirs or max packets are sent. Returns how many
 * these are. A flow whose time lies beyond the wheel's horizon may be due and send nothing. */
static inline uint32_t due_run(struct pacer *p, uint64_t now, void **packets, uint32_t max)
{
    uint32_t sent = 0;

    while (sent < max && p->due_at < p->due_end) {
        uint32_t at = p->due_at, left = p->due_end - at, room = max - sent;
        uint32_t n = left < room ? left : room;

        p->due_at += n;
        sent += flows_run(p, p->due + at, n, now, packets + sent, room);
    }
    return sent;
}

uint32_t pacer_poll(struct pacer *p, uint64_t now, void **packets, uint32_t max)
{
    uint32_t n = 0, taken = PACER_DUE;

    if (p->alone != 0) {
        bool still = now < p->wheel->near;

        if (max == 0 || (still && now < p->alone_tsc))
            return 0;
        if (still)
            return alone_run(p, p->alone - 1, now, packets, max);
        if (now < p->alone_tsc && due_take(p, now) == 0) /* there is time for the wheel's work */
            return 0;
        wheel_queue(p->wheel, p->alone - 1, p->alone_tsc);
        p->alone = 0;
    }
    n = due_run(p, now, packets, max);
    while (n < max && taken == PACER_DUE) {
        taken = due_take(p, now);
        if (taken == 1 && max > 1 && n == 0) {
            wheel_forget(p->wheel, p->due[p->due_at++]);
            return alone_run(p, p->due[0], now, packets, max);
        }
        n += due_run(p, now, packets + n, max - n);
    }
    return n;
}

uint32_t pacer_drain(struct pacer *p, uint32_t flow, void **packets, uint32_t max)
{
    struct pacer_flow *f = &p->flows[flow];
    uint32_t n = 0;

    CHECK(flow < p->n_flows);
    while (n < max && f->head[0] != 0)
        packets[n++] = flow_shift(p, f);
    if (f->head[0] == 0) {
        alone_forget(p, flow);
        due_forget(p, flow);
        wheel_cancel(p->wheel, flow);
    }
    return n;
}

uint64_t pacer_next(const struct pacer *p)
{
    uint64_t next;

    if (p->due_at < p->due_end)
        return p->wheel->now;
    next = wheel_next(p->wheel);
    return p->alone != 0 ? time_min(next, p->alone_tsc) : next;
}
