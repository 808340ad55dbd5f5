/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rate: a link that sends so many bytes a second, with a queue before it. receiver: a host that
 * takes so many bytes a second out of its own buffer, and may stall for a while when the buffer has
 * overflowed.
 *
 * Times are exact: what a packet does not need of its last cycle is carried over to the next
 * packet. So a busy link is done with the n-th packet after the sum of the first n lengths over the
 * rate, rounded up to a cycle.
 */
#include <errno.h>

#include "path/element/server.h"

typedef unsigned __int128 u128;

struct rate_params {
    struct server_params server;
    uint64_t rate_Bps; /* 0: the link is stopped */
    int64_t overhead;  /* bytes a packet */
    uint64_t cell;     /* bytes; 0: no cells */
    int64_t cell_overhead;
    uint64_t stall; /* of a receiver, in cycles; see receiver_overrun() */
};

struct rate {
    struct server sv;
    uint64_t start; /* when the remaining work starts; during a stall: when the stall ends */
    uint64_t work;  /* remaining, in bytes * hz; done after work / rate cycles */
    uint64_t spare; /* what the work does not need of its last cycle, in bytes * hz */
    bool stalled;   /* the packet being served has already been stalled */
    /* A plain link has one drop-tail queue, and its params never change. So the time at which a
     * packet will leave is known when it arrives, and it waits with that time in the ring of the
     * first band. */
    bool plain;
    uint64_t last; /* when the last packet will have left */
    /* What a packet of len bytes takes (len is the last packet's): len_cycles whole cycles, and
     * beyond them work of len_rest, in bytes * hz. */
    uint32_t len;
    uint64_t len_cycles, len_rest;
};

static int queue_parse(struct spec *s, struct rate_params *p)
{
    while (queue_option(s, &p->server.queue))
        continue;
    return queue_complete(s, &p->server.queue);
}

static int rate_parse(struct spec *s, void *params)
{
    struct rate_params *p = params;

    if (spec_rate(s, "rate", &p->rate_Bps) && spec_digit(s) &&
        spec_signed(s, "rate's overhead a packet", 65535, &p->overhead) && spec_digit(s) &&
        spec_number(s, "rate's cell size", 0, 65535, &p->cell) && spec_digit(s))
        spec_signed(s, "rate's overhead a cell", 65535, &p->cell_overhead);
    if (p->cell > 0 && (int64_t)p->cell + p->cell_overhead <= 0)
        return spec_fail(s, "comes after cells that take no time");
    return queue_parse(s, p);
}

static int receiver_parse(struct spec *s, void *params)
{
    struct rate_params *p = params;

    p->server.limit_served = true;
    spec_rate(s, "receiver's rate", &p->rate_Bps);
    if (spec_accept(s, "stall"))
        spec_time(s, "receiver's stall", &p->stall);
    return queue_parse(s, p);
}

/* Bytes that a packet of len bytes takes on the link. */
static uint64_t wire_bytes(const struct rate_params *p, uint32_t len)
{
    int64_t bytes = (int64_t)len + p->overhead;

    if (bytes < 0)
        return 0;
    if (p->cell > 0)
        return ((uint64_t)bytes + p->cell - 1) / p->cell *
               (uint64_t)((int64_t)p->cell + p->cell_overhead);
    return (uint64_t)bytes;
}

/* Sets e.due to when the work will be done, and `spare` to what the work does not need of its last
 * cycle. */
static void due_set(struct rate *r)
{
    const struct rate_params *p = r->sv.e.params;
    uint64_t cycles;

    if (p->rate_Bps == 0) {
        r->sv.e.due = TIME_NEVER;
        return;
    }
    cycles = r->work / p->rate_Bps;
    r->spare = r->work - cycles * p->rate_Bps;
    if (r->spare > 0) {
        cycles++;
        r->spare = p->rate_Bps - r->spare;
    }
    r->sv.e.due = r->start + cycles;
}

static void rate_begin(struct server *sv, uint64_t start, bool fresh)
{
    struct rate *r = (struct rate *)sv;
    const struct rate_params *p = sv->e.params;

    r->work = wire_bytes(p, sv->packet.len) * sv->e.path->clock.hz; /* no overflow: < 2^20 * 2^40 */
    if (!fresh)
        r->work -= RTE_MIN(r->spare, r->work);
    r->start = start;
    r->stalled = false;
    due_set(r);
}

/* Subtracts from `work` what has been done of it until `now`. */
static void settle(struct rate *r, uint64_t rate_Bps, uint64_t now)
{
    u128 done;

    if (now <= r->start) /* in a stall */
        return;
    done = (u128)(now - r->start) * rate_Bps;
    r->work -= done < r->work ? (uint64_t)done : r->work;
    r->start = now;
}

static void rate_change(struct element *e, const void *old, uint64_t at)
{
    struct rate *r = (struct rate *)e;

    if (!r->sv.busy)
        return;
    settle(r, ((const struct rate_params *)old)->rate_Bps, at);
    due_set(r);
}

static void receiver_overrun(struct server *sv, uint64_t at)
{
    struct rate *r = (struct rate *)sv;
    const struct rate_params *p = sv->e.params;

    if (r->stalled)
        return;
    r->stalled = true;
    settle(r, p->rate_Bps, at);
    r->start = at + p->stall;
    due_set(r);
}

static uint64_t rate_of(const struct server *sv)
{
    return ((const struct rate_params *)sv->e.params)->rate_Bps;
}

static void len_set(struct rate *r, uint32_t len)
{
    const struct rate_params *p = r->sv.e.params;
    uint64_t work = wire_bytes(p, len) * r->sv.e.path->clock.hz;

    r->len = len;
    r->len_cycles = work / p->rate_Bps;
    r->len_rest = work - r->len_cycles * p->rate_Bps;
}

/* A packet arrives at a plain link. */
static __rte_always_inline void plain_arrive(struct rate *r, const struct rate_params *p,
                                             struct path_packet *packet)
{
    struct element *e = &r->sv.e;
    const struct queue_band *b = &p->server.queue.bands[0];
    struct fifo *f = &r->sv.queue.bands[0].fifo;
    uint32_t waiting = fifo_count(f); /* includes the packet being served */
    uint64_t arrived = packet->at;

    if (waiting == 0) {
        r->last = arrived;
        r->spare = 0;
    } else if (waiting - 1 >= b->limit_packets ||
               e->counts.queued_bytes - fifo_first(f)->len + packet->len > b->limit_bytes) {
        element_drop(e, packet);
        return;
    }
    element_hold(e, packet);
    if (packet->len != r->len)
        len_set(r, packet->len);
    if (r->spare >= r->len_rest) {
        r->spare -= r->len_rest;
    } else {
        r->spare += p->rate_Bps - r->len_rest;
        r->last++;
    }
    packet->at = r->last += r->len_cycles;
    histogram_add(e->delay, packet->at - arrived);
    fifo_push(f, packet);
    if (waiting == 0)
        e->due = packet->at;
}

static void rate_arrive_burst(struct element *e, struct path_packet *packets, uint32_t n)
{
    struct rate *r = (struct rate *)e;

    for (uint32_t i = 0; i < n; i++) {
        if (e->due <= packets[i].at)
            element_run(e, packets[i].at);
        if (r->plain)
            plain_arrive(r, e->params, &packets[i]);
        else
            server_arrive(e, &packets[i]);
    }
}

static void rate_arrive(struct element *e, struct path_packet *packet)
{
    rate_arrive_burst(e, packet, 1);
}

static void rate_run(struct element *e, uint64_t until)
{
    struct rate *r = (struct rate *)e;

    if (r->plain)
        element_run_fifo(e, &r->sv.queue.bands[0].fifo, until);
    else
        server_run(e, until);
}

static int link_init(struct element *e)
{
    struct rate *r = (struct rate *)e;

    r->sv.begin = rate_begin;
    r->sv.rate_Bps = rate_of;
    return server_init(e);
}

static int rate_init(struct element *e)
{
    const struct rate_params *p = e->params;
    const struct queue_params *q = &p->server.queue;
    struct rate *r = (struct rate *)e;

    r->plain = e->stage->changes == NULL && p->rate_Bps > 0 && q->n_bands == 1 && !q->has_red &&
               !q->has_codel;
    if (r->plain)
        len_set(r, 0);
    return link_init(e);
}

static int receiver_init(struct element *e)
{
    ((struct rate *)e)->sv.overrun = receiver_overrun;
    return link_init(e);
}

const struct element_kind kind_rate = {
    .name = "rate",
    .bytes = sizeof(struct rate),
    .params_bytes = sizeof(struct rate_params),
    .parse = rate_parse,
    .init = rate_init,
    .fini = server_fini,
    .arrive = rate_arrive,
    .arrive_burst = rate_arrive_burst,
    .run = rate_run,
    .change = rate_change,
};

const struct element_kind kind_receiver = {
    .name = "receiver",
    .bytes = sizeof(struct rate),
    .params_bytes = sizeof(struct rate_params),
    .parse = receiver_parse,
    .init = receiver_init,
    .fini = server_fini,
    .arrive = server_arrive,
    .run = server_run,
    .change = rate_change,
};
