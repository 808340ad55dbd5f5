/* SPDX-License-Identifier: BSD-3-Clause */
/* See contract.h. Times are rounded to the later side. */
#include "pace/contract.h"

#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"

#define RATE_MAX_BPS   (1ull << 48)
#define MBS_MAX_BYTES  (1ull << 40)
#define UNIT_MAX_BYTES (1ull << 20)
#define SLACK_BITS     4
#define SLACK_MAX      ((uint64_t)UINT32_MAX << SLACK_BITS) /* cycles */

typedef unsigned __int128 u128;

static const char *config_fault(const struct contract_config *cfg)
{
    if (cfg->pcr_Bps == 0 || cfg->pcr_Bps > RATE_MAX_BPS)
        return "the peak rate (pcr) must be 1 to 2^48 bytes a second";
    if (cfg->unit_bytes == 0 || cfg->unit_bytes > UNIT_MAX_BYTES)
        return "the longest packet must be 1 to 2^20 bytes";
    if (cfg->scr_Bps > cfg->pcr_Bps)
        return "the sustained rate (scr) is above the peak rate (pcr); exchange them";
    if (cfg->scr_Bps == 0 && cfg->mbs_bytes != 0)
        return "a burst (mbs) needs a sustained rate (scr)";
    if (cfg->scr_Bps != 0 && (cfg->mbs_bytes < cfg->unit_bytes || cfg->mbs_bytes > MBS_MAX_BYTES))
        return "the burst (mbs) must have room for the longest packet, and be at most 2^40 bytes";
    return NULL;
}

static uint64_t cost_of(uint64_t rate_Bps, uint64_t hz)
{
    return (uint64_t)((((u128)hz << 32) + rate_Bps - 1) / rate_Bps);
}

static uint32_t slack_of(u128 cycles)
{
    return (uint32_t)((cycles < SLACK_MAX ? (uint64_t)cycles : SLACK_MAX) >> SLACK_BITS);
}

int contract_init(struct contract *c, const struct contract_config *cfg, uint64_t hz, uint64_t now,
                  char *err, size_t err_len)
{
    const char *fault = config_fault(cfg);
    u128 cdvt = (u128)cfg->cdvt_ns * hz / CLOCK_NS_PER_S;

    CHECK(hz > 0 && hz < 1ull << 40);
    if (fault != NULL) {
        snprintf(err, err_len, "contract: %s", fault);
        return -EINVAL;
    }
    *c = (struct contract){.peak_tsc = now,
                           .sustained_tsc = now,
                           .peak_cost = cost_of(cfg->pcr_Bps, hz),
                           .peak_slack = slack_of(cdvt)};
    if (cfg->scr_Bps != 0) {
        u128 bytes = cfg->mbs_bytes - cfg->unit_bytes;
        u128 ahead = bytes * (cost_of(cfg->scr_Bps, hz) - cost_of(cfg->pcr_Bps, hz)) >> 32;

        /* Costs are rounded up: the most that this may add to their difference is subtracted. */
        ahead -= ahead < (bytes >> 32) + 1 ? ahead : (bytes >> 32) + 1;
        c->sustained_cost = cost_of(cfg->scr_Bps, hz);
        c->sustained_slack = slack_of(cdvt + ahead);
    }
    return 0;
}

/* Converts a theoretical arrival time to another rate: it stays as many bytes ahead of now, but at
 * most 2^62 cycles. */
static void rescale(uint64_t *tat, uint32_t *fraction, uint64_t old_cost, uint64_t cost,
                    uint64_t now)
{
    const u128 most = (u128)1 << 94;
    u128 ahead;

    if (*tat < now) {
        *tat = now;
        *fraction = 0;
    }
    if (cost == old_cost)
        return;
    ahead = (((u128)(*tat - now) << 32) + *fraction + old_cost - 1) / old_cost; /* bytes */
    ahead = ahead < most / cost ? ahead * cost : most;
    *tat = now + (uint64_t)(ahead >> 32);
    *fraction = (uint32_t)ahead;
}

void contract_continue(struct contract *c, const struct contract *old, uint64_t now)
{
    c->peak_tsc = old->peak_tsc;
    c->peak_fraction = old->peak_fraction;
    rescale(&c->peak_tsc, &c->peak_fraction, old->peak_cost, c->peak_cost, now);
    if (c->sustained_cost == 0)
        return;
    if (old->sustained_cost == 0) { /* the old contract counted by its peak alone */
        c->sustained_tsc = old->peak_tsc;
        c->sustained_fraction = old->peak_fraction;
        rescale(&c->sustained_tsc, &c->sustained_fraction, old->peak_cost, c->sustained_cost, now);
    } else {
        c->sustained_tsc = old->sustained_tsc;
        c->sustained_fraction = old->sustained_fraction;
        rescale(&c->sustained_tsc, &c->sustained_fraction, old->sustained_cost, c->sustained_cost,
                now);
    }
}

static uint64_t gate(uint64_t tat, uint32_t fraction, uint32_t slack)
{
    uint64_t at = tat + (fraction > 0), ahead = (uint64_t)slack << SLACK_BITS;

    return at > ahead ? at - ahead : 0;
}

uint64_t contract_next(const struct contract *c, uint64_t now)
{
    uint64_t at = gate(c->peak_tsc, c->peak_fraction, c->peak_slack);

    at = at > now ? at : now;
    if (c->sustained_cost != 0) {
        uint64_t other = gate(c->sustained_tsc, c->sustained_fraction, c->sustained_slack);

        at = at > other ? at : other;
    }
    return at;
}

uint32_t contract_count(const struct contract *c, uint64_t now, uint64_t len_bytes, uint32_t max)
{
    uint64_t ahead = (uint64_t)c->peak_slack << SLACK_BITS;
    u128 cost = (u128)c->peak_cost * len_bytes;
    u128 room; /* cycles by which the arrival time may still grow, with their fraction */

    CHECK(c->sustained_cost == 0 && len_bytes > 0 && max <= (1u << 20) / len_bytes);
    if (max == 0 || gate(c->peak_tsc, c->peak_fraction, c->peak_slack) > now)
        return 0;
    /* After a pause, the first packet counts from now. */
    if (now > c->peak_tsc + (c->peak_fraction > 0))
        room = (u128)ahead << 32;
    else
        room = ((u128)(now + ahead - c->peak_tsc) << 32) - c->peak_fraction;
    if (room < cost) /* the usual case: one is due */
        return 1;
    return cost == 0 || room / cost >= max - 1 ? max : (uint32_t)(room / cost) + 1;
}

static void count(uint64_t *tat, uint32_t *fraction, uint64_t now, uint64_t cost,
                  uint64_t len_bytes)
{
    u128 next;

    /* a packet in the first cycle after a fraction is on time: else each would lose a fraction */
    if (now > *tat + (*fraction > 0)) {
        *tat = now;
        *fraction = 0;
    }
    next = (u128)cost * len_bytes + *fraction;
    *tat += (uint64_t)(next >> 32);
    *fraction = (uint32_t)next;
}

void contract_take(struct contract *c, uint64_t now, uint64_t len_bytes)
{
    count(&c->peak_tsc, &c->peak_fraction, now, c->peak_cost, len_bytes);
    if (c->sustained_cost != 0)
        count(&c->sustained_tsc, &c->sustained_fraction, now, c->sustained_cost, len_bytes);
}
