/* SPDX-License-Identifier: BSD-3-Clause */
/* What control knows of one connection, brought up to date once an interval. */
#include "host/record.h"

#define QUIET_INTERVALS 2u        /* and a round trip: of who said that he has more, or begins */
#define QUIET_MOST      64u       /* of who sends a packet now and then */
#define QUIET_UNITS     8u        /* packets that are missed before a pause is one */
#define QUIET_SHARE     16u       /* of an interval: packets come late by this */
#define ENDED_UNITS     2u        /* the same, where there was nothing more to send */
#define ENDED_SHARE     8u        /* and then of an interval; at most a round trip */
#define UNKNOWN_RTT_NS  50000000u /* of who has not answered yet */

/* One connection's part in what the host did. */
static void sample_add(struct host_control *c, struct conn_record *r, uint64_t bytes, uint64_t sent,
                       uint64_t interval_ns)
{
    r->rate_Bps = (uint64_t)((unsigned __int128)(bytes - r->bytes) * CLOCK_NS_PER_S / interval_ns);
    c->sample.rx_bytes += bytes - r->bytes;
    c->sample.tx_bytes += sent - r->tx_bytes;
    if (r->grant_Bps != 0 && r->rate_Bps >= r->grant_Bps / 4 * 3)
        c->sample.hungry = true;
    r->tx_bytes = sent;
}

/* How fast packets come while they come: pauses do not count, but slowness does. */
static void pace_update(struct conn_record *r, uint64_t bytes, uint64_t interval_ns)
{
    uint64_t intervals = RTE_MIN(r->quiet, QUIET_MOST) + 1;
    uint64_t rate = (uint64_t)((unsigned __int128)(bytes - r->bytes) * CLOCK_NS_PER_S /
                               (intervals * interval_ns));

    if (bytes == r->bytes) {
        r->quiet++;
        return;
    }
    r->quiet = 0;
    r->pace_Bps = r->pace_Bps == 0 ? rate : (3 * r->pace_Bps + rate) / 4;
    r->pace_Bps += r->pace_Bps == 0;
}

/* How long so many bytes take to come, and a little more, for they may be late. */
static uint64_t pause_ns(const struct conn_record *r, uint64_t bytes, uint64_t late_ns,
                         uint64_t interval_ns)
{
    unsigned __int128 pause = (unsigned __int128)bytes * CLOCK_NS_PER_S / (r->pace_Bps + 1);

    return (uint64_t)RTE_MIN(pause + late_ns, (unsigned __int128)QUIET_MOST * interval_ns);
}

/* What the host itself dropped says nothing of the path. */
static uint64_t path_losses(struct host_control *c, uint64_t lost)
{
    uint64_t own = RTE_MIN(lost, c->own_losses);

    c->own_losses -= own;
    return lost - own;
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

/* Did the worker raise the grant so lately that nothing may have come of it? */
static bool woken(const struct host_control *c, const struct host *h, const struct conn_public *p,
                  const struct conn_record *r, uint64_t interval_ns)
{
    uint64_t at = counter_get(&p->woken_at), rtt_ns = counter_get(&p->rtt_ns);

    if (rtt_ns == 0 && r->pace_Bps != 0)
        rtt_ns = UNKNOWN_RTT_NS;
    return at != 0 && clock_ns(&h->clock, c->last - at) <=
                          RTE_MIN(QUIET_INTERVALS * interval_ns + rtt_ns, QUIET_MOST * interval_ns);
}

/* Does it take part in the sharing: does it send, or is it about to? */
static bool record_active(const struct host_control *c, const struct host *h,
                          const struct conn_public *p, struct conn_record *r, uint64_t interval_ns)
{
    uint64_t at = counter_get(&p->rx_at), rtt_ns = counter_get(&p->rtt_ns);
    uint64_t gap_ns = clock_ns(&h->clock, c->last > at ? c->last - at : 0);
    uint64_t unit = counter_get(&p->unit_bytes);
    bool more = backlog_left(p, r, r->bytes);

    r->ended = counter_get(&p->rx_ended) != 0;

    /* who had all he was granted, and then no more to send, has ended; others have little to send
     * at any time */
    if (r->pace_Bps != 0 && r->slack < SLACK_INTERVALS && r->ended) {
        uint64_t late_ns = interval_ns / ENDED_SHARE;

        late_ns = rtt_ns != 0 ? RTE_MIN(rtt_ns, late_ns) : late_ns;
        return gap_ns <= pause_ns(r, ENDED_UNITS * unit, late_ns, interval_ns);
    }
    if (woken(c, h, p, r, interval_ns))
        return true;
    if (r->pace_Bps == 0)
        return false;
    return gap_ns <= pause_ns(r, RTE_MAX(QUIET_UNITS * unit, r->burst_bytes),
                              interval_ns / QUIET_SHARE, interval_ns) +
                         (more ? QUIET_INTERVALS * interval_ns + rtt_ns : 0);
}

bool record_update(struct host_control *c, struct host *h, uint32_t i, struct conn_record *r,
                   uint64_t interval_ns)
{
    const struct conn_public *p = &h->conns[i].pub;
    uint64_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);

    r->active = false;
    if (counter_get(&p->state) != HOST_OPEN)
        return false;
    uint64_t bytes = counter_get(&p->rx_bytes), arrived = counter_get(&p->rx_arrived);
    uint64_t lost = counter_get(&p->rx_lost), sent = counter_get(&p->tx_bytes);
    uint64_t ceiling = c->ceiling_Bps;
    uint32_t rtt_intervals = (uint32_t)(counter_get(&p->rtt_ns) / interval_ns) + 1;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (counter_get(&p->epoch) != epoch)
        return false; /* another connection begins, these may be its figures */
    if (r->epoch != epoch) {
        *r = (struct conn_record){.epoch = epoch, .peers = sharing_peers(c, &h->conns[i].peer)};
        estimate_init(&r->estimate, ceiling != 0 ? ceiling : START_BPS);
    }
    r->grant_Bps = counter_get(&p->rx_rate_Bps); /* by us, or by the worker as it began */
    r->burst_bytes = counter_get(&p->rx_burst_bytes);
    if (woken(c, h, p, r, interval_ns))
        r->lost = lost; /* of what it sent before it knew of its grant */
    estimate_update(&r->estimate, bytes - r->bytes, arrived - r->arrived,
                    path_losses(c, lost > r->lost ? lost - r->lost : 0), r->grant_Bps, interval_ns,
                    rtt_intervals);
    if (ceiling != 0 && r->estimate.ceiling_Bps > ceiling)
        r->estimate.ceiling_Bps = ceiling;
    sample_add(c, r, bytes, sent, interval_ns);
    pace_update(r, bytes, interval_ns);
    r->bytes = bytes;
    r->active = record_active(c, h, p, r, interval_ns);
    r->arrived = arrived;
    r->lost = lost;
    return true;
}
