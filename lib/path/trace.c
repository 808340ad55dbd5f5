/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace: a link that can send 1500 bytes at each moment (opportunity) of a packet-delivery trace in
 * Mahimahi's format (Netravali et al. 2015): one time in ms a line, ascending. A time that occurs
 * twice is two opportunities. After the last time the trace begins again. The Ethernet header is
 * not counted. Packets that wait for the same opportunity share its bytes; bytes for which no
 * packet waits are wasted.
 */
#include <errno.h>

#include "path/element/server.h"
#include "path/file.h"

#define TRACE_BYTES 1500u
#define TRACE_MAX   (1u << 22)

struct trace_params {
    struct server_params server;
    const int32_t *at_ms;
    uint32_t n;
};

struct trace {
    struct server sv;
    uint64_t round; /* how often the trace has ended */
    uint32_t next;  /* index in at_ms of the next opportunity */
    uint32_t left;  /* bytes left of the opportunity at used_at */
    uint64_t used_at;
    uint64_t began; /* when the trace began */
};

static int trace_parse(struct spec *s, void *params)
{
    struct trace_params *p = params;

    if (file_numbers_alloc(s, "packet-delivery trace", 0, TRACE_MAX, &p->at_ms, &p->n) != 0)
        return -EINVAL;
    for (uint32_t i = 1; i < p->n; i++)
        if (p->at_ms[i] < p->at_ms[i - 1])
            return spec_fail(s, "comes after a trace whose times do not ascend");
    if (p->at_ms[p->n - 1] == 0)
        return spec_fail(s, "comes after a trace that ends at 0 ms");
    while (queue_option(s, &p->server.queue))
        continue;
    return queue_complete(s, &p->server.queue);
}

static void trace_free(void *params)
{
    rte_free((void *)(uintptr_t)((struct trace_params *)params)->at_ms);
}

static uint64_t opportunity(const struct trace *t, const struct trace_params *p)
{
    uint64_t ms = t->round * (uint64_t)p->at_ms[p->n - 1] + (uint64_t)p->at_ms[t->next];

    return t->began + clock_cycles(&t->sv.e.path->clock, ms * 1000000);
}

static void advance(struct trace *t, const struct trace_params *p)
{
    if (++t->next == p->n) {
        t->next = 0;
        t->round++;
    }
}

/* Skips whole rounds of the trace at once after a long idle time. */
static void rounds_skip(struct trace *t, const struct trace_params *p, uint64_t now)
{
    uint64_t period = (uint64_t)p->at_ms[p->n - 1] * 1000000;
    uint64_t rounds = clock_ns(&t->sv.e.path->clock, now - t->began) / period;

    if (rounds > t->round + 1) {
        t->round = rounds - 1;
        t->next = 0;
    }
}

static void trace_begin(struct server *sv, uint64_t start, bool fresh)
{
    struct trace *t = (struct trace *)sv;
    const struct trace_params *p = sv->e.params;
    uint32_t need = sv->packet.len > 14 ? sv->packet.len - 14 : 1;

    if (t->used_at != start)
        t->left = 0;
    if (fresh)
        rounds_skip(t, p, start);
    for (;;) {
        uint32_t take = RTE_MIN(need, t->left);

        need -= take;
        t->left -= take;
        if (need == 0)
            break;
        while (opportunity(t, p) < start)
            advance(t, p);
        t->used_at = opportunity(t, p);
        t->left = TRACE_BYTES;
        advance(t, p);
    }
    sv->e.due = t->used_at;
}

static uint64_t trace_rate(const struct server *sv)
{
    const struct trace_params *p = sv->e.params;

    return (uint64_t)p->n * TRACE_BYTES * 1000 / (uint64_t)p->at_ms[p->n - 1];
}

static int trace_init(struct element *e)
{
    struct trace *t = (struct trace *)e;

    t->sv.begin = trace_begin;
    t->sv.rate_Bps = trace_rate;
    t->used_at = TIME_NEVER;
    t->began = e->since;
    return server_init(e);
}

/* A new trace starts at its beginning; the packet being served keeps its time. */
static void trace_change(struct element *e, const void *old, uint64_t at)
{
    struct trace *t = (struct trace *)e;

    t->left = 0;
    t->next = 0;
    t->round = 0;
    t->began = at;
}

const struct element_kind kind_trace = {
    .name = "trace",
    .bytes = sizeof(struct trace),
    .params_bytes = sizeof(struct trace_params),
    .parse = trace_parse,
    .forget = trace_free,
    .init = trace_init,
    .fini = server_fini,
    .arrive = server_arrive,
    .run = server_run,
    .change = trace_change,
};
