/* SPDX-License-Identifier: BSD-3-Clause */
/* What control knows of one connection, brought up to date once an interval. */
#include "host/record.h"

#define QUIET_INTERVALS 2u           /* and a round trip: of who said that he has more */
#define OWN_FOUND_NS    100000000ull /* until a loss of the host's own is found */
#define QUIET_MOST      64u          /* of who sends a packet now and then */
#define FREE_MAX_BPS    (1ull << 47)

/* One connection's part in what the host did. */
static void sample_add(struct host_control *c, struct conn_record *r, uint64_t bytes, uint64_t sent,
                       uint64_t interval_ns)
{
    r->rate_Bps = (uint64_t)((unsigned __int128)(bytes - r->bytes) * CLOCK_NS_PER_S / interval_ns);
    r->throughput_Bps = (uint64_t)((int64_t)r->throughput_Bps +
                                   ((int64_t)r->rate_Bps - (int64_t)r->throughput_Bps) / 8);
    c->sample.rx_bytes += bytes - r->bytes;
    c->sample.tx_bytes += sent - r->tx_bytes;
    if (r->grant_Bps != 0 && r->rate_Bps >= r->grant_Bps / 4 * 3)
        c->sample.hungry = true;
    r->tx_bytes = sent;
}

/* Intervals that a connection of few packets may be quiet between them; none with 8 in each. */
static uint32_t packet_intervals(const struct conn_public *p, const struct conn_record *r,
                                 uint64_t interval_ns)
{
    unsigned __int128 packets_ns =
        (unsigned __int128)8 * counter_get(&p->unit_bytes) * CLOCK_NS_PER_S / (r->grant_Bps + 1);

    return (uint32_t)RTE_MIN(packets_ns / interval_ns, (unsigned __int128)QUIET_MOST);
}

/* What its way may carry: as its worker found, or more than is used, as long as that found nothing.
 */
static void ceiling_update(const struct host_control *c, const struct conn_public *p,
                           struct conn_record *r)
{
    uint64_t path_Bps = counter_get(&p->path_Bps);

    if (r->grant_Bps != 0 && r->rate_Bps >= r->grant_Bps / 4 * 3 && r->free_Bps < FREE_MAX_BPS)
        r->free_Bps += r->free_Bps / 32;
    r->path_limited = path_Bps != 0;
    r->way_Bps = path_Bps != 0 ? path_Bps : r->free_Bps;
    if (c->ceiling_Bps != 0)
        r->way_Bps = RTE_MIN(r->way_Bps, c->ceiling_Bps);
}

/* Does the host drop packets because bursts are too large? */
static void burst_sample(const struct host_control *c, const struct conn_public *p,
                         struct conn_record *r, uint64_t loss_runs, uint64_t clean)
{
    /* the last packet of a burst is missed when the next one begins */
    uint64_t period_ns =
        (uint64_t)((unsigned __int128)r->burst_bytes * CLOCK_NS_PER_S / (r->grant_Bps + 1));
    uint64_t found_ns = OWN_FOUND_NS + 2 * period_ns;
    struct burst_sample s = {
        .packets = clean - r->clean,
        .runs = loss_runs - r->loss_runs,
        .own = c->overrun_ns != 0 && c->time_ns - c->overrun_ns < found_ns,
        .bounded = r->burst_bytes >= r->burst.limit_packets * counter_get(&p->unit_bytes),
        .time_ns = c->time_ns,
        .host_bytes = c->rx_bytes,
        .could_Bps = c->capacity.capacity_Bps,
    };

    burst_update(&r->burst, &s);
    r->loss_runs = loss_runs;
    r->clean = clean;
}

/* Has not all come yet that the peer last said it had? */
static bool backlog_left(const struct conn_public *p, struct conn_record *r, uint64_t bytes)
{
    uint64_t backlog = counter_get(&p->peer_backlog_bytes);

    if (backlog != r->backlog) {
        r->backlog = backlog;
        r->backlog_end = bytes + backlog;
    }
    return r->backlog_end > bytes;
}

bool record_update(struct host_control *c, struct host *h, uint32_t i, struct conn_record *r,
                   uint64_t interval_ns)
{
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    r->active = false;
    if (counter_get(&p->state) != HOST_OPEN)
        return false;
    uint64_t bytes = counter_get(&p->rx_bytes), sent = counter_get(&p->tx_bytes);
    uint64_t loss_runs = counter_get(&p->rx_loss_runs), clean = counter_get(&p->rx_clean);
    uint32_t rtt_intervals = (uint32_t)(counter_get(&p->rtt_ns) / interval_ns) + 1;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return false; /* another connection begins, these may be its figures */
    if (r->epoch != epoch) {
        *r = (struct conn_record){
            .epoch = epoch, .peers = sharing_peers(c, &h->conns[i].peer), .free_Bps = START_BPS};
    }
    sample_add(c, r, bytes, sent, interval_ns);
    ceiling_update(c, p, r);
    burst_sample(c, p, r, loss_runs, clean);
    r->quiet = bytes != r->bytes ? 0 : r->quiet + 1;
    r->active = r->grant_Bps == 0 ||
                r->quiet <= packet_intervals(p, r, interval_ns) +
                                (backlog_left(p, r, bytes) ? QUIET_INTERVALS + rtt_intervals : 0);
    r->bytes = bytes;
    r->lost = counter_get(&p->rx_lost);
    return true;
}
