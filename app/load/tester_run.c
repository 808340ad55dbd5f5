/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of the tester. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "common/clock.h"
#include "common/grace.h"
#include "load/tester.h"

#define TURN      16u        /* rounds between two looks at the grace period */
#define LAUNCH_NS 1000000ull /* from the launch of the workers to the first frame */

/* ---- workers ------------------------------------------------------------------------------ */

/* Returns false when all that this worker runs is over. */
static inline bool round_run(struct tester_worker *w)
{
    uint64_t now = clock_now();
    bool on = false;

    for (unsigned int i = 0; i < w->senders; i++)
        on |= sender_step(w->sender[i], now);
    for (unsigned int i = 0; i < w->receivers; i++)
        on |= receiver_step(w->receiver[i], now);
    for (unsigned int i = 0; i < w->reflectors; i++)
        on |= reflector_step(w->reflector[i], now);
    return on;
}

static int worker_run(void *arg)
{
    struct tester_worker *w = arg;
    bool on = true;

    grace_loop(true);
    __atomic_store_n(&w->running, true, __ATOMIC_SEQ_CST);
    while (on) {
        __atomic_store_n(&w->turns, w->turns + 1, __ATOMIC_SEQ_CST);
        for (unsigned int i = 0; i < TURN && on; i++)
            on = round_run(w);
    }
    __atomic_store_n(&w->running, false, __ATOMIC_SEQ_CST);
    grace_loop(false);
    return 0;
}

static void workers_run(struct tester *t)
{
    unsigned int lcore, n = 0;

    if (rte_lcore_count() == 1) {
        worker_run(&t->worker[0]);
        return;
    }
    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        if (n < t->workers)
            rte_eal_remote_launch(worker_run, &t->worker[n++], lcore);
    }
    rte_eal_mp_wait_lcore();
}

static void window_begin(struct tester *t, const struct plan *plan)
{
    struct window *w = &t->window;
    uint64_t now = clock_now();

    w->warmup_id = t->next_window;
    w->id = (uint16_t)((t->next_window + 1) % STAMP_WINDOWS);
    t->next_window = (uint16_t)((t->next_window + 2) % STAMP_WINDOWS);
    w->warmup_tsc = now + clock_cycles(&w->clock, LAUNCH_NS);
    w->begin_tsc = w->warmup_tsc + clock_cycles(&w->clock, (uint64_t)(plan->warmup_s * 1e9));
    w->end_tsc = plan->seconds > 0
                     ? w->begin_tsc + clock_cycles(&w->clock, (uint64_t)(plan->seconds * 1e9))
                     : TIME_NEVER;
    w->wait_tsc = clock_cycles(&w->clock, (uint64_t)(plan->wait_s * 1e9));
    w->senders = t->senders;
    w->senders_done = 0;
    w->sent = w->received = 0;
}

/* ---- set-up ------------------------------------------------------------------------------- */

static double link_bps(const struct tester *t, unsigned int direction)
{
    struct rte_eth_link link;

    if (t->opt->link_bps > 0)
        return t->opt->link_bps;
    if (rte_eth_link_get_nowait(t->port[direction].id, &link) != 0 ||
        link.link_speed == RTE_ETH_SPEED_NUM_NONE || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
        return 0;
    return link.link_speed * 1e6;
}

/* The flows of a direction, with the MAC addresses of its ports where the plan has none. */
static struct flows direction_flows(const struct tester *t, const struct plan *plan,
                                    unsigned int direction)
{
    struct flows f = plan->flows;

    if (!plan->src_mac)
        rte_eth_macaddr_get(t->port[0].id, &f.route.src_mac);
    if (!plan->dst_mac && t->ports == 2)
        rte_eth_macaddr_get(t->port[1].id, &f.route.dst_mac);
    return direction == 0 ? f : flows_back(&f);
}

static int sender_prepare(struct tester *t, unsigned int i, const struct plan *plan, double pps)
{
    struct sender *s = &t->sender[i];
    uint32_t queues = (uint32_t)t->opt->queues;
    struct flows flows = direction_flows(t, plan, i / queues);
    struct stream_config cfg = {.route = &flows.route,
                                .mix = &plan->mix,
                                .window = t->window.warmup_id,
                                .stream = s->stream_id};

    rte_free(s->flows);
    s->flows = rte_malloc("flows", (plan->flows.count / queues + 1) * sizeof *s->flows,
                          RTE_CACHE_LINE_SIZE);
    if (s->flows == NULL)
        return -ENOMEM;
    cfg.n_flows = flows_list(&flows, i % queues, queues, s->flows);
    cfg.flows = s->flows;
    stream_init(&s->warmup, &cfg);
    cfg.window = t->window.id;
    stream_init(&s->measured, &cfg);
    pps /= queues;
    s->rate = (struct contract_config){.unit_bytes = SENDER_FRAME};
    if (pps > 0) {
        s->rate.pcr_Bps = RTE_MAX((uint64_t)llround(pps * SENDER_FRAME), 1ull);
        s->period_tsc = (uint64_t)((double)t->window.clock.hz / pps);
        s->rate.cdvt_ns = (uint64_t)((plan->burst - 1) / pps * 1e9);
    }
    sender_begin(s, clock_now());
    return 0;
}

/* The flows of a stream: those of its sender; while listening, all. */
static uint32_t stream_flows(const struct tester *t, const struct plan *plan, unsigned int stream)
{
    return t->opt->mode == MODE_LISTEN ? plan->flows.count : t->sender[stream].measured.n_flows;
}

/* Does this receiver count this stream? */
static bool counts(const struct tester *t, unsigned int receiver, unsigned int stream)
{
    if (t->opt->mode == MODE_LISTEN)
        return true;
    return stream < t->senders && stream / t->opt->queues == receiver / t->opt->queues;
}

/* Bytes of the tally of a stream. */
static size_t tally_bytes(const struct tester *t, const struct plan *plan, unsigned int stream)
{
    return RTE_ALIGN_CEIL(tally_storage_bytes(stream_flows(t, plan, stream)), RTE_CACHE_LINE_SIZE);
}

static int tallies_alloc(struct tester *t, const struct plan *plan)
{
    size_t bytes = 1;

    for (unsigned int i = 0; i < t->receivers; i++)
        for (unsigned int k = 0; k < STAMP_STREAMS; k++)
            bytes += counts(t, i, k) ? tally_bytes(t, plan, k) : 0;
    rte_free(t->tally_storage);
    t->tally_storage = rte_malloc("tally", bytes, RTE_CACHE_LINE_SIZE);
    return t->tally_storage != NULL ? 0 : -ENOMEM;
}

static int receivers_prepare(struct tester *t, const struct plan *plan)
{
    int rc = tallies_alloc(t, plan);
    uint8_t *at = t->tally_storage;

    for (unsigned int i = 0; i < t->receivers && rc == 0; i++) {
        struct tally *tally[STAMP_STREAMS] = {NULL};

        for (unsigned int k = 0; k < STAMP_STREAMS; k++) {
            if (!counts(t, i, k))
                continue;
            tally[k] = &t->tally[i * STAMP_STREAMS + k];
            tally_init(tally[k], stream_flows(t, plan, k), at);
            at += tally_bytes(t, plan, k);
        }
        stamp_shape_init(&t->receiver[i].collector.shape, &plan->flows.route);
        receiver_begin(&t->receiver[i], tally);
    }
    return rc;
}

/* ---- results ------------------------------------------------------------------------------ */

static double seconds(const struct tester *t, uint64_t begin_tsc, uint64_t end_tsc)
{
    return (double)(end_tsc - begin_tsc) / (double)t->window.clock.hz;
}

static void sender_collect(const struct tester *t, const struct sender *s, struct result *r)
{
    r->seconds = RTE_MAX(r->seconds, seconds(t, s->begin_tsc, s->end_tsc));
    r->sent += s->sent;
    r->sent_bytes += s->sent_bytes;
    r->refused += s->refused;
    histogram_join(&r->late, &s->late);
}

static void receiver_collect(const struct tester *t, const struct receiver *x, struct result *r)
{
    const struct collector *c = &x->collector;

    r->rx_seconds = RTE_MAX(r->rx_seconds, seconds(t, x->begin_tsc, x->end_tsc));
    r->arrived += x->frames;
    r->arrived_bytes += x->bytes;
    r->earlier += c->earlier;
    r->corrupt += c->corrupt;
    r->foreign += c->foreign;
    histogram_join(&r->latency, &c->latency);
    for (unsigned int k = 0; k < STAMP_STREAMS; k++) {
        const struct tally *y = c->tally[k];

        if (y == NULL)
            continue;
        r->received += y->received;
        r->duplicates += y->duplicates;
        r->reordered += y->reordered;
        r->beyond += y->beyond;
        r->missing += tally_missing(y);
        r->flows_seen += y->flows_seen;
        histogram_join(&r->displacement, &y->displacement);
    }
}

static void results_collect(struct tester *t, const struct plan *plan, const double *pps)
{
    unsigned int queues = (unsigned int)t->opt->queues;
    struct result empty = {.plan = plan,
                           .listening = t->opt->mode == MODE_LISTEN,
                           .counts = t->opt->count,
                           .interrupted = window_stopped(&t->window)};

    t->sum = empty;
    for (unsigned int i = 0; i < t->directions; i++) {
        struct result *r = &t->direction[i];

        *r = empty;
        r->requested_pps = pps[i];
        r->link_bps = link_bps(t, i);
        for (unsigned int k = i * queues; k < (i + 1) * queues; k++) {
            if (k < t->senders)
                sender_collect(t, &t->sender[k], r);
            receiver_collect(t, &t->receiver[k], r);
        }
        if (t->senders == 0)
            r->seconds = r->rx_seconds;
        result_add(&t->sum, r);
    }
}

static int rates_find(const struct tester *t, const struct plan *plan, double *pps, char *err,
                      size_t err_len)
{
    for (unsigned int i = 0; i < t->directions && t->senders > 0; i++) {
        pps[i] = plan_pps(plan, link_bps(t, i));
        if (pps[i] < 0) {
            snprintf(err, err_len,
                     "rate=%s: port %s does not know its link's rate; start with "
                     "--link RATE, or give the rate in pps",
                     plan->rate, t->port[i].name);
            return -EINVAL;
        }
    }
    return 0;
}

int tester_run(struct tester *t, const struct plan *plan, char *err, size_t err_len)
{
    double pps[2] = {0};
    int rc = plan_check(plan, t->opt->mtu, err, err_len);

    if (rc == 0)
        rc = rates_find(t, plan, pps, err, err_len);
    if (rc == 0 && plan->flows.count < t->opt->queues) {
        snprintf(err, err_len, "flows=%u: each of the %llu queues needs one; give more flows",
                 plan->flows.count, (unsigned long long)t->opt->queues);
        rc = -EINVAL;
    }
    if (rc != 0)
        return rc;
    window_begin(t, plan);
    for (unsigned int i = 0; i < t->senders && rc == 0; i++)
        rc = sender_prepare(t, i, plan, pps[i / t->opt->queues]);
    if (rc == 0)
        rc = receivers_prepare(t, plan);
    if (rc != 0) {
        snprintf(err, err_len,
                 "flows=%u: no memory for them; give more with -m MB before --, or "
                 "fewer flows",
                 plan->flows.count);
        return rc;
    }
    workers_run(t);
    results_collect(t, plan, pps);
    return 0;
}

void tester_reflect(struct tester *t, double seconds_max)
{
    struct plan plan = {.seconds = seconds_max};

    window_begin(t, &plan);
    workers_run(t);
}
