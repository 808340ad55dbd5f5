/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of a host to show: counters by name, and those of one connection. For any thread. */
#include <string.h>

#include "base/check.h"
#include "host/host_internal.h"

const char *host_counter(const struct host *h, uint32_t index, uint64_t *value)
{
    static const char *const name[] = {
#define X(n) #n,
        HOST_COUNTERS(X)
#undef X
    };

    if (index >= HOST_COUNTER_COUNT)
        return NULL;
    *value = counter_get(&h->count[index]);
    return name[index];
}

uint64_t host_counter_named(const struct host *h, const char *name)
{
    const char *found;
    uint64_t value = 0;
    uint32_t i = 0;

    while ((found = host_counter(h, i++, &value)) != NULL && strcmp(found, name) != 0)
        ;
    CHECK(found != NULL);
    return value;
}

bool host_neighbor(const struct host *h, uint32_t index, struct host_neighbor *out)
{
    struct neighbor n;

    static_assert(HOST_NEIGHBORS_MAX == NEIGHBOR_MAX, "all of the table");
    if (!neighbor_read(&h->neighbors, index, &n))
        return false;
    *out = (struct host_neighbor){n.addr, n.mac, n.known, n.learnt_tsc};
    return true;
}

const char *host_reason_name(uint16_t reason)
{
    static const char *const name[] = {
        [GRANT_DEFAULT] = "default",
        [GRANT_NEWCOMER] = "newcomer",
        [GRANT_CAPACITY] = "capacity",
        [GRANT_LOSS] = "loss",
        [GRANT_PROBE] = "probe",
        [GRANT_IDLE] = "idle",
        [GRANT_CEILING] = "ceiling",
        [GRANT_MINIMUM] = "minimum",
        [GRANT_DEMAND] = "demand",
        [GRANT_QUEUE] = "queue",
        [GRANT_COMPETING] = "competing",
        [GRANT_OCCUPANCY] = "occupancy",
        [GRANT_ECN] = "ecn",
        [GRANT_LIMIT] = "limit",
    };

    return reason < RTE_DIM(name) ? name[reason] : "unknown";
}

uint64_t host_port_rate(const struct host *h)
{
    return counter_get(&h->start.port_Bps);
}

uint32_t host_conn_limit(const struct host *h)
{
    return h->cfg.conns;
}

uint32_t host_conn_count(const struct host *h)
{
    return (uint32_t)counter_get(&h->conns_used);
}

static uint64_t limited_ns(const struct host *h, const struct conn_public *p, enum vt_limit by)
{
    return clock_ns(&h->clock, counter_get(&p->tx_limited_tsc[by]));
}

bool host_conn_info(const struct host *h, uint32_t conn, struct host_conn_info *out)
{
    if (conn >= h->cfg.conns)
        return false;
    const struct conn_public *p = &h->conns[conn].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    memset(out, 0, sizeof *out);
    out->state = (enum host_state)__atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    if (out->state == HOST_FREE)
        return false;
    out->peer = conn_public_peer(p);
    out->peer_port = (uint16_t)counter_get(&p->peer_port);
    out->service = (uint16_t)counter_get(&p->service);
    out->owner = counter_get(&p->owner);
    out->opener = counter_get(&p->opener) != 0;
    out->go_back_n = counter_get(&p->go_back_n) != 0;
    out->unit_bytes = (uint32_t)counter_get(&p->unit_bytes);
    out->dropped_unit_bytes = (uint32_t)counter_get(&p->dropped_unit_bytes);
    out->tx_rate_Bps = counter_get(&p->tx_rate_Bps);
    out->tx_burst_bytes = counter_get(&p->tx_burst_bytes);
    out->tx_reason = (uint16_t)counter_get(&p->tx_reason);
    out->rx_rate_Bps = counter_get(&p->rx_rate_Bps);
    out->rx_burst_bytes = counter_get(&p->rx_burst_bytes);
    out->rx_reason = (uint16_t)counter_get(&p->rx_reason);
    out->rtt_ns = counter_get(&p->rtt_ns);
    out->tx_bytes = counter_get(&p->tx_bytes);
    out->tx_units = counter_get(&p->tx_units);
    out->tx_repeats = counter_get(&p->tx_repeats);
    out->tx_acked_bytes = counter_get(&p->tx_acked_bytes);
    out->tx_app_limited_ns = limited_ns(h, p, VT_LIMIT_APP);
    out->tx_peer_limited_ns = limited_ns(h, p, VT_LIMIT_PEER);
    out->tx_rate_limited_ns = limited_ns(h, p, VT_LIMIT_RATE);
    out->rx_bytes = counter_get(&p->rx_bytes);
    out->rx_units = counter_get(&p->rx_units);
    out->rx_duplicates = counter_get(&p->rx_duplicates);
    out->rx_unposted = counter_get(&p->rx_unposted);
    out->rx_lost = counter_get(&p->rx_lost);
    out->rx_loss_runs = counter_get(&p->rx_loss_runs);
    out->rx_clean = counter_get(&p->rx_clean);
    out->rx_ce = counter_get(&p->rx_ce);
    out->rx_momentary_Bps = counter_get(&p->rx_momentary_Bps);
    out->cntl_tx = counter_get(&p->cntl_tx);
    out->cntl_rx = counter_get(&p->cntl_rx);
    out->naks_tx = counter_get(&p->naks_tx);
    out->naks_rx = counter_get(&p->naks_rx);
    out->recoveries = counter_get(&p->recoveries);
    out->backlog_bytes = counter_get(&p->backlog_bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return counter_get(&p->epoch) == epoch; /* else another connection begins with this number */
}

static void spread_copy(struct spread *to, const struct spread *from)
{
    to->sum = counter_get(&from->sum);
    for (uint32_t k = 0; k < SPREAD_BUCKETS; k++)
        to->n[k] = counter_get(&from->n[k]);
}

bool host_conn_spread(const struct host *h, uint32_t conn, struct host_conn_spread *out)
{
    if (conn >= h->cfg.conns)
        return false;
    const struct conn *c = &h->conns[conn];
    uint64_t epoch = __atomic_load_n(&c->pub.epoch, __ATOMIC_ACQUIRE);

    if (counter_get(&c->pub.state) == HOST_FREE)
        return false;
    spread_copy(&out->increment_ns, &c->pub.spread.increment_ns);
    spread_copy(&out->momentary_Bps, &c->pub.spread.momentary_Bps);
    spread_copy(&out->latency_ns, &c->pub.spread.latency_ns);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return counter_get(&c->pub.epoch) == epoch;
}
