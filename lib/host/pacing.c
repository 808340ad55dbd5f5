/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pacing: when may a connection's next packet leave? DATA wait for credit and contract. CNTL and
 * FIRST, which carry the connection's state, wait for the contract alone. If the port keeps packets
 * until their time (host_config.tx_lead_ns), they are given to it ahead, each with its time.
 *
 * Invariant: the times that the port is given with packets never go back, for a port sends in
 * order.
 */
#include <rte_mbuf_dyn.h>

#include "base/check.h"
#include "host/host_internal.h"

#define VLAN_TAG 4u

/* Is there a contract at all? */
static bool bound(const struct conn *c)
{
    return c->pacing.contract.peak_cost != 0;
}

/* The first time, not before `at`, that the contract allows, and that is not before the time of any
 * packet given to the port so far. */
static uint64_t leaves_at(const struct host *h, const struct conn *c, uint64_t at)
{
    if (at == TIME_NEVER)
        return at;
    at = at > h->tx_time ? at : h->tx_time;
    return bound(c) ? contract_next(&c->pacing.contract, at) : at;
}

/* The peak that the peer grants counts user bytes; a contract counts frames. Gives that peak in
 * bytes of frames, if all units are full. */
static uint64_t peak_of_frames(const struct conn *c)
{
    uint64_t unit = c->tx.unit_bytes,
             head = frame_header_len(&c->route) + WIRE_DATA_BYTES + conn_trailer(c);
    unsigned __int128 peak = (unsigned __int128)c->pacing.peak_Bps * (unit + head) / unit;

    return peak < CREDIT_RATE_MAX_BPS ? (uint64_t)peak : CREDIT_RATE_MAX_BPS;
}

struct contract_config pacing_limits(const struct host_config *cfg)
{
    struct contract_config limits = cfg->contract;

    limits.unit_bytes = cfg->mtu + RTE_ETHER_HDR_LEN + VLAN_TAG;
    return limits;
}

void pacing_contract(struct host *h, struct conn *c)
{
    struct contract_config limits = pacing_limits(&h->cfg);
    struct contract old = c->pacing.contract;
    char err[128];

    if (c->pacing.peak_Bps != 0) {
        uint64_t peak_Bps = peak_of_frames(c);

        if (limits.pcr_Bps == 0 || peak_Bps < limits.pcr_Bps)
            limits.pcr_Bps = peak_Bps;
        if (limits.scr_Bps > limits.pcr_Bps)
            limits.scr_Bps = limits.pcr_Bps;
    }
    c->pacing.contract = (struct contract){0};
    if (limits.pcr_Bps == 0)
        return;
    /* host_create() has checked the configuration, and a peak cannot make it invalid */
    CHECK(contract_init(&c->pacing.contract, &limits, h->cfg.hz, pacing_now(h), err, sizeof err) ==
          0);
    if (old.peak_cost != 0)
        contract_continue(&c->pacing.contract, &old, pacing_now(h));
}

/*
 * At first nothing is known of a path, not even how long it takes to hear of losses. So no more
 * packets may be under way than have arrived so far, but FLIGHT_BYTES always may. That bounds what
 * a slow path loses under a high first grant. On a fast path, the number under way doubles each
 * round trip.
 */
void pacing_flight(struct conn *c, uint64_t base, uint64_t arrived)
{
    uint64_t least = FLIGHT_BYTES / c->tx.unit_bytes;

    if (base > c->pacing.flight_base)
        c->pacing.flight_base = base;
    c->pacing.flight_end = c->pacing.flight_base + (arrived > least ? arrived : least);
}

bool pacing_data(struct host *h, struct conn *c, uint64_t *at)
{
    uint64_t wake;

    if (c->tx.packet >= c->pacing.flight_end)
        return false; /* the next CNTL may move flight_end */
    *at = leaves_at(h, c, credit_next(&c->pacing.credit, h->now));
    if (*at != TIME_NEVER && *at - h->now <= h->tx_lead_tsc)
        return true;
    wake = *at;
    if (c->want != 0 && bound(c)) /* a CNTL may wait for the contract, too */
        wake = time_min(wake, leaves_at(h, c, h->now));
    wheel_insert(h->pacing, c->index, wake);
    return false;
}

bool pacing_state(struct host *h, struct conn *c, uint64_t *at)
{
    *at = leaves_at(h, c, h->now);
    if (*at - h->now <= h->tx_lead_tsc)
        return true;
    wheel_insert(h->pacing, c->index, *at); /* replaces an entry for DATA, which is not earlier */
    return false;
}

void pacing_moderate(struct host *h, const struct conn *c)
{
    /* a contract sets the time of each packet */
    moderation_sends(&h->moderation, bound(c) ? 0 : c->pacing.credit.period_tsc, c->rtt.min_tsc);
}

void pacing_sent(struct host *h, struct conn *c, struct rte_mbuf *m, uint64_t at,
                 uint32_t unit_bytes)
{
    if (unit_bytes > 0) {
        credit_update(&c->pacing.credit, at);
        credit_take(&c->pacing.credit, unit_bytes);
    }
    if (unit_bytes > 0 || bound(c))
        pacing_moderate(h, c);
    if (bound(c))
        contract_take(&c->pacing.contract, at, m->pkt_len);
    if (h->tx_lead_tsc == 0)
        return;
    h->tx_time = at;
    if (at == h->now)
        return;
    *RTE_MBUF_DYNFIELD(m, h->cfg.tx_time_offset, uint64_t *) = at;
    m->ol_flags |= h->cfg.tx_time_flag;
}
