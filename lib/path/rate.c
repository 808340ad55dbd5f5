/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rate: a link that sends so many bytes a second, with a queue before it; and receiver: a host that
 * takes so many bytes a second out of a buffer of its own, which it may fail to do for a while when
 * the buffer has run over.
 *
 * Times are exact: what is left of a cycle when a packet is done is carried into the next one, so a
 * busy link's n-th packet is done at the sum of all lengths over the rate, rounded up to a cycle.
 */
#include <errno.h>

#include "path/server.h"

typedef unsigned __int128 u128;

struct rate_params {
    struct server_params server;
    uint64_t rate_Bps; /* 0: stands still */
    int64_t overhead;  /* bytes a packet */
    uint64_t cell;     /* bytes; 0: no cells */
    int64_t cell_overhead;
    uint64_t stall; /* receiver: cycles */
};

struct rate {
    struct server sv;
    uint64_t start; /* of what is left to do: */
    u128 work;      /* bytes * hz; done after work / rate cycles */
    bool stalled;   /* this packet has been held up already */
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
        return spec_fail(s, "stands behind cells that take no time");
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

/* Bytes that the packet takes on the link. */
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

static void due_set(struct rate *r)
{
    const struct rate_params *p = r->sv.e.params;
    u128 cycles;

    if (p->rate_Bps == 0) {
        r->sv.e.due = TIME_NEVER;
        return;
    }
    if (r->work >> 64 == 0)
        cycles = ((uint64_t)r->work + p->rate_Bps - 1) / p->rate_Bps;
    else
        cycles = (r->work + p->rate_Bps - 1) / p->rate_Bps;
    r->sv.e.due = cycles > TIME_NEVER - 1 - r->start ? TIME_NEVER - 1 : r->start + (uint64_t)cycles;
}

static void rate_begin(struct server *sv, uint64_t start, bool fresh)
{
    struct rate *r = (struct rate *)sv;
    const struct rate_params *p = sv->e.params;
    /* the last packet was done up to a cycle before start */
    u128 early = fresh ? 0 : (u128)(start - r->start) * p->rate_Bps - r->work;

    r->work = (u128)wire_bytes(p, sv->packet.len) * path_clock(sv->e.path)->hz;
    r->work -= early < r->work ? early : r->work;
    r->start = start;
    r->stalled = false;
    due_set(r);
}

/* What is left to do, at the new rate. */
static void rate_change(struct element *e, const void *old, uint64_t at)
{
    struct rate *r = (struct rate *)e;
    const struct rate_params *was = old;
    u128 done = (u128)(at - r->start) * was->rate_Bps;

    if (!r->sv.busy)
        return;
    r->work -= done < r->work ? done : r->work;
    r->start = at;
    due_set(r);
}

static void receiver_overrun(struct server *sv)
{
    struct rate *r = (struct rate *)sv;
    const struct rate_params *p = sv->e.params;

    if (r->stalled)
        return;
    r->stalled = true;
    r->work += (u128)p->stall * p->rate_Bps;
    due_set(r);
}

static uint64_t rate_of(const struct server *sv)
{
    return ((const struct rate_params *)sv->e.params)->rate_Bps;
}

static int rate_init(struct element *e)
{
    struct rate *r = (struct rate *)e;

    r->sv.begin = rate_begin;
    r->sv.rate_Bps = rate_of;
    return server_init(e);
}

static int receiver_init(struct element *e)
{
    ((struct rate *)e)->sv.overrun = receiver_overrun;
    return rate_init(e);
}

const struct element_kind kind_rate = {
    .name = "rate",
    .bytes = sizeof(struct rate),
    .params_bytes = sizeof(struct rate_params),
    .parse = rate_parse,
    .init = rate_init,
    .fini = server_fini,
    .arrive = server_arrive,
    .run = server_run,
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
