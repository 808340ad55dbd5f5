/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control walk: every interval, for all connections of a port's hosts: measure -> estimate ->
 * share -> grant. It reads what workers publish and writes grants, nothing else; a worker whose
 * control has stopped goes on with the grants it has.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "control/estimate.h"
#include "control/share.h"
#include "host/station.h"

#define START_BPS       12500000000ull /* 100 Gbit/s until something is known */
#define CHANGE_SHIFT    6u             /* changes below 1/64 are not worth a CNTL */
#define BURST_NS        100000ull      /* a burst lasts 100 us at the granted rate */
#define SLACK_INTERVALS 32u
#define BURST_UNITS_MIN 4u
#define BURST_UNITS_MAX 64u

struct conn_record {
    struct estimate estimate;
    uint64_t epoch, bytes, arrived, lost;
    uint64_t grant_Bps, burst_bytes;
    uint32_t slack; /* intervals in a row in which less than half of the grant was used */
    bool active;
};

struct host_control {
    struct host *hosts[HOST_WORKERS_MAX];
    struct conn_record *records[HOST_WORKERS_MAX];
    uint64_t *demands;           /* of the active connections */
    struct conn_record **owners; /* whose they are */
    uint32_t n;
    uint64_t capacity_Bps; /* hard ceiling; 0: none */
    uint64_t last;
};

static uint32_t conns_in_all(const struct host_control *c)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < c->n; i++)
        all += c->hosts[i]->cfg.conns;
    return all;
}

struct host_control *host_control_create(struct host *const *hosts, uint32_t n, uint64_t now,
                                         char *err, size_t err_len)
{
    struct host_control *c = rte_zmalloc("control", sizeof *c, 64);
    bool ok = c != NULL && n > 0 && n <= HOST_WORKERS_MAX;

    for (uint32_t i = 0; ok && i < n; i++) {
        c->n = i + 1;
        c->hosts[i] = hosts[i];
        c->records[i] = rte_zmalloc("records", hosts[i]->cfg.conns * sizeof *c->records[i], 64);
        ok = c->records[i] != NULL;
    }
    if (ok) {
        c->demands = rte_zmalloc("demands", conns_in_all(c) * sizeof *c->demands, 64);
        c->owners = rte_zmalloc("owners", conns_in_all(c) * sizeof(void *), 64);
        ok = c->demands != NULL && c->owners != NULL;
    }
    if (!ok) {
        snprintf(err, err_len, "no memory for control; lower connections or give EAL more (-m)");
        host_control_destroy(c);
        return NULL;
    }
    c->capacity_Bps = hosts[0]->cfg.capacity_Bps;
    c->last = now;
    return c;
}

void host_control_destroy(struct host_control *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        rte_free(c->records[i]);
    rte_free(c->demands);
    rte_free(c->owners);
    rte_free(c);
}

void host_control_set_capacity(struct host_control *c, uint64_t capacity_Bps)
{
    c->capacity_Bps = capacity_Bps;
}

uint64_t host_control_capacity(const struct host_control *c)
{
    return c->capacity_Bps;
}

static uint64_t burst_for(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes)
{
    if (h->cfg.burst_bytes != 0)
        return h->cfg.burst_bytes;
    uint64_t burst = (uint64_t)((unsigned __int128)rate_Bps * BURST_NS / CLOCK_NS_PER_S);
    uint64_t least = BURST_UNITS_MIN * unit_bytes, most = BURST_UNITS_MAX * unit_bytes;

    return burst < least ? least : burst > most ? most : burst;
}

/* Tells the worker, if it differs enough to be worth a packet. */
static void grant_write(struct host *h, uint32_t i, struct conn_record *r, uint64_t rate,
                        enum grant_reason reason)
{
    uint64_t unit = counter_get(&h->conns[i].pub.unit_bytes);
    uint64_t burst = burst_for(h, rate, unit != 0 ? unit : 1);
    uint64_t change = rate > r->grant_Bps ? rate - r->grant_Bps : r->grant_Bps - rate;

    if (change <= r->grant_Bps >> CHANGE_SHIFT && r->grant_Bps != 0)
        return;
    r->grant_Bps = rate;
    r->burst_bytes = burst;
    counter_set(&h->grants[i].epoch, r->epoch);
    counter_set(&h->grants[i].rate_Bps, rate);
    counter_set(&h->grants[i].burst_bytes, burst);
    counter_set(&h->grants[i].reason, reason);
    __atomic_fetch_or(&h->grants_dirty[i / 64], 1ull << (i % 64), __ATOMIC_RELEASE);
    __atomic_store_n(&h->grants_any, 1, __ATOMIC_RELEASE);
}

/* One connection's interval; true if it takes part in the sharing. */
static bool record_update(struct host_control *c, struct host *h, uint32_t i, struct conn_record *r,
                          uint64_t interval_ns)
{
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    r->active = false;
    if (counter_get(&p->state) != HOST_OPEN)
        return false;
    uint64_t bytes = counter_get(&p->rx_bytes), arrived = counter_get(&p->rx_arrived);
    uint64_t lost = counter_get(&p->rx_lost);
    uint32_t rtt_intervals = (uint32_t)(counter_get(&p->rtt_ns) / interval_ns) + 1;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return false; /* another connection begins, these may be its figures */
    if (r->epoch != epoch) {
        *r = (struct conn_record){.epoch = epoch};
        estimate_init(&r->estimate, c->capacity_Bps != 0 ? c->capacity_Bps : START_BPS);
    }

    estimate_update(&r->estimate, bytes - r->bytes, arrived - r->arrived,
                    lost > r->lost ? lost - r->lost : 0, r->grant_Bps, interval_ns, rtt_intervals);
    if (c->capacity_Bps != 0 && r->estimate.ceiling_Bps > c->capacity_Bps)
        r->estimate.ceiling_Bps = c->capacity_Bps;
    r->active = bytes != r->bytes || counter_get(&p->peer_backlog_bytes) > 0 || r->grant_Bps == 0;
    r->bytes = bytes;
    r->arrived = arrived;
    r->lost = lost;
    return true;
}

/* What a connection could use: all its way can carry, or, when it has long used little, twice that.
 */
static uint64_t record_demand(struct conn_record *r)
{
    uint64_t used = r->estimate.throughput_Bps;

    r->slack = used < r->grant_Bps / 2 ? r->slack + 1 : 0;
    if (r->slack < SLACK_INTERVALS)
        return r->estimate.ceiling_Bps;
    return RTE_MIN(r->estimate.ceiling_Bps, 2 * used + ESTIMATE_MIN_BPS);
}

static void grants_write(struct host_control *c, uint64_t level, uint64_t newcomer)
{
    for (uint32_t k = 0; k < c->n; k++) {
        struct host *h = c->hosts[k];

        for (uint32_t i = 0; i < h->cfg.conns; i++) {
            struct conn_record *r = &c->records[k][i];

            if (counter_get(&h->conns[i].pub.state) != HOST_OPEN || r->estimate.ceiling_Bps == 0)
                continue;
            uint64_t ceiling = r->estimate.ceiling_Bps;
            enum grant_reason why = r->estimate.hold > 0 ? GRANT_LOSS : GRANT_PROBE;
            uint64_t limit = r->active ? level : newcomer;

            if (limit < ceiling)
                why = r->active ? GRANT_CAPACITY : GRANT_IDLE;
            grant_write(h, i, r, RTE_MIN(limit, ceiling), why);
        }
        counter_set(&h->newcomer_rate_Bps, RTE_MIN(newcomer, (uint64_t)START_BPS));
        counter_set(&h->newcomer_burst_bytes,
                    burst_for(h, RTE_MIN(newcomer, (uint64_t)START_BPS), h->cfg.mtu));
    }
}

void host_control(struct host_control *c, const struct host_port_counters *port, uint64_t now)
{
    (void)port; /* host overrun is told from path loss by a later estimate */
    uint64_t interval_ns = clock_ns(&c->hosts[0]->clock, now - c->last);
    uint32_t active = 0;

    if (interval_ns == 0)
        return;
    c->last = now;
    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->hosts[k]->cfg.conns; i++) {
            struct conn_record *r = &c->records[k][i];

            if (record_update(c, c->hosts[k], i, r, interval_ns) && r->active)
                c->demands[active++] = record_demand(r);
        }
    uint64_t level = UINT64_MAX, newcomer = START_BPS;

    if (c->capacity_Bps != 0) {
        level = share_level(c->demands, active, c->capacity_Bps);
        newcomer = c->capacity_Bps / (active + 1);
    }
    grants_write(c, level, newcomer);
}

/* The worker's side: takes what control has changed. */
void grants_apply(struct host *h)
{
    if (__atomic_load_n(&h->grants_any, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_exchange_n(&h->grants_any, 0, __ATOMIC_ACQ_REL);
    for (uint32_t w = 0; w < (h->cfg.conns + 63) / 64; w++) {
        uint64_t bits = __atomic_exchange_n(&h->grants_dirty[w], 0, __ATOMIC_ACQUIRE);

        for (; bits != 0; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
            struct conn *c = &h->conns[i];

            if (c->state != HOST_OPEN || c->pub.epoch != counter_get(&h->grants[i].epoch))
                continue;
            counter_set(&c->pub.rx_rate_Bps, counter_get(&h->grants[i].rate_Bps));
            counter_set(&c->pub.rx_burst_bytes, counter_get(&h->grants[i].burst_bytes));
            counter_set(&c->pub.rx_reason, counter_get(&h->grants[i].reason));
            conn_want(h, c, WANT_CNTL);
        }
    }
}
