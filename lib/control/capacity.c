/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/capacity.h"

#include "base/clock.h"
#include "base/mul_div.h"

#define IDLE_SHARE      16u  /* no host is believed to do more than 16 times its work */
#define SPENT_SHARE     256u /* all time is spent where less than 1/256 is left */
#define LADEN_SHARE     8u   /* hardly any time is left where less than 1/8 is */
#define AHEAD_SHARE     8u   /* if work slows down, at most 1/8 of an interval is carried over */
#define FULL_SHARE      16u  /* nearly all bursts are full where less than 1/16 are not */
#define LARGE_SHARE     4u   /* bursts are large where 1/4 are full */
#define STEP_SHIFT      4u   /* a step upward is capacity >> 4 */
#define RESERVE_SHIFT   7u   /* capacity >> 7 is not granted, once packets were dropped */
#define DRAIN_SHIFT     1u   /* capacity >> 1 is not granted after drops, while a backlog is left */
#define WAITS_SHIFT     3u   /* as DRAIN_SHIFT, when saturation, not a drop, shows the backlog */
#define EXTRA_SHIFT     2u   /* capacity >> 2 is granted on top, if nothing was ever dropped */
#define DRAIN           1u
#define RISE_SHIFT      2u /* a rise by more than capacity >> 2 is a large one */
#define SLOWER_SHIFT    3u /* a host is slower if it does less by capacity >> 3 in all its time */
#define HOLD_INTERVALS  32u
#define TIGHT_INTERVALS 16u

typedef unsigned __int128 u128;

void capacity_init(struct capacity *c)
{
    *c = (struct capacity){.why = CAPACITY_UNKNOWN};
}

static uint64_t clamp(u128 rate)
{
    if (rate < CAPACITY_MIN_BPS)
        return CAPACITY_MIN_BPS;
    return rate < CAPACITY_MAX_BPS ? (uint64_t)rate : CAPACITY_MAX_BPS;
}

static bool measured(const struct capacity_sample *s)
{
    return s->time > 0 && s->busy > 0 && s->busy <= s->time;
}

/* True if no poll that found packets ended in the interval: nothing came, the workers had lost
 * their cores, or the poll still goes on. How much could have been received is then unknown. */
static bool shows_nothing(const struct capacity_sample *s)
{
    return s->time > 0 && (s->rx_bytes == 0 || s->busy == 0);
}

static bool spent(const struct capacity_sample *s)
{
    return measured(s) && s->time - s->busy < s->time / SPENT_SHARE;
}

/* Bursts are so large that they do not grow much any more. */
static bool large(const struct capacity_sample *s)
{
    return s->full >= s->bursts / LARGE_SHARE;
}

/* Hardly any time is left, and most bursts are full: the workers could not do more. */
static bool laden(const struct capacity_sample *s)
{
    return measured(s) && s->time - s->busy < s->time / LADEN_SHARE && 2 * s->full > s->bursts;
}

/* All time was spent, and on receiving: what was sent took little of it, and no other port did. */
static bool spent_receiving(const struct capacity_sample *s)
{
    return spent(s) && !s->shared && s->tx_bytes < s->rx_bytes / LADEN_SHARE;
}

/* Nearly all bursts are full, and no time is left but that of one burst, which may count for the
 * interval before or after: more packets wait than are taken. */
static bool filled(const struct capacity_sample *s)
{
    bool border = laden(s) && s->time - s->busy < s->busy / s->bursts;

    return (spent(s) || border) && (s->bursts - s->full) * FULL_SHARE < s->bursts;
}

/* Was the rate of work about that of the interval before? A worker that lost its core does no
 * work. */
static bool steady(const struct capacity *c, const struct capacity_sample *s)
{
    u128 rate = (u128)s->rx_bytes * CLOCK_NS_PER_S / s->interval_ns * s->time / s->busy;

    return rate * 4 >= (u128)c->could_Bps[0] * 3;
}

/* Divides work that began in one interval and ended in the next between both, by time. A poll may
 * count in `full` of one interval and in `bursts` of the other: its worker goes on counting while
 * the counters are read. */
static struct capacity_sample settled(struct capacity *c, const struct capacity_sample *s)
{
    struct capacity_sample own = *s;
    uint64_t most, over;

    own.overruns += c->missed;
    c->missed = 0;
    own.full = own.full < own.bursts ? own.full : own.bursts;
    own.busy += c->ahead;
    own.rx_bytes += c->ahead_bytes;
    c->ahead = c->ahead_bytes = 0;
    if (own.time == 0 || own.busy <= own.time)
        return own;
    over = own.busy - own.time;
    most = steady(c, &own) ? own.time : own.time / AHEAD_SHARE;
    c->ahead = over < most ? over : most;
    c->ahead_bytes = mul_div(own.rx_bytes, c->ahead, own.time + c->ahead);
    own.rx_bytes -= c->ahead_bytes;
    own.busy = own.time;
    return own;
}

/* The rate that could have been received in the interval. */
static uint64_t could(const struct capacity_sample *s)
{
    u128 bytes = s->rx_bytes;

    if (measured(s)) {
        uint64_t busy = s->busy > s->time / IDLE_SHARE ? s->busy : s->time / IDLE_SHARE + 1;

        bytes += ((u128)s->rx_bytes + s->tx_bytes) * (s->time - busy) / busy;
    }
    return clamp(bytes * CLOCK_NS_PER_S / s->interval_ns);
}

/* The largest rate of the last n intervals. */
static uint64_t recent_max(const struct capacity *c, uint32_t n)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < n; i++)
        most = c->could_Bps[i] > most ? c->could_Bps[i] : most;
    return most;
}

/* The smaller of the last two rates: work at the border of intervals may count in the wrong one. */
static uint64_t recent_min(const struct capacity *c)
{
    return c->could_Bps[0] < c->could_Bps[1] ? c->could_Bps[0] : c->could_Bps[1];
}

/* A small rise must show in both of the last two intervals; a large one may have begun within the
 * earlier. */
static uint64_t measured_rise(const struct capacity *c)
{
    uint64_t least = recent_min(c);

    return least - c->capacity_Bps > c->capacity_Bps >> RISE_SHIFT ? c->could_Bps[0] : least;
}

static void recent_add(struct capacity *c, const struct capacity_sample *s)
{
    uint64_t believed = c->overruns > 0 ? c->capacity_Bps : s->link_Bps;

    for (uint32_t i = CAPACITY_RECENT - 1; i > 0; i--)
        c->could_Bps[i] = c->could_Bps[i - 1];
    c->could_Bps[0] = could(s);
    c->overran = s->overruns > 0 ? c->overran + 1 : 0;
    c->tight = spent(s) && !large(s) ? c->tight + 1 : 0;
    c->saturated = filled(s) ? c->saturated + 1 : 0;
    c->slower =
        (spent_receiving(s) || laden(s)) && c->could_Bps[0] < believed - (believed >> SLOWER_SHIFT)
            ? c->slower + 1
            : 0;
}

/* More packets wait to be taken than should: less is granted until they are gone. */
static void backlog(struct capacity *c, uint32_t shift)
{
    c->drain = DRAIN;
    c->shift = shift;
}

static void set(struct capacity *c, uint64_t rate, enum capacity_why why)
{
    c->capacity_Bps = rate;
    c->why = why;
}

/* Drops, and bytes of unfinished work, count for the next interval that shows something. */
static void put_off(struct capacity *c, const struct capacity_sample *s)
{
    c->missed += s->overruns;
    c->ahead_bytes += s->rx_bytes;
    c->drain -= c->drain > 0 && c->missed == 0;
}

void capacity_update(struct capacity *c, const struct capacity_sample *sample)
{
    struct capacity_sample own;
    const struct capacity_sample *s = &own;

    c->hold -= c->hold > 0;
    if (shows_nothing(sample)) {
        put_off(c, sample);
        return;
    }
    own = settled(c, sample);
    recent_add(c, s);
    c->drain -= c->drain > 1 || (c->drain == 1 && !filled(s));
    if (s->overruns > 0) {
        c->overruns++;
        backlog(c, DRAIN_SHIFT);
        c->hold = HOLD_INTERVALS;
        set(c, c->overran > 1 ? c->could_Bps[0] : recent_max(c, 2), CAPACITY_OVERRUN);
    } else if (c->slower >= 2) {
        c->overruns++; /* as if dropped: the excess waits to be taken */
        backlog(c, DRAIN_SHIFT);
        c->slower = 0;
        set(c, c->could_Bps[0], CAPACITY_OVERRUN);
    } else if (c->saturated >= CAPACITY_RECENT &&
               (c->overruns == 0 || recent_max(c, CAPACITY_RECENT) < c->capacity_Bps)) {
        c->overruns += c->overruns == 0 && s->link_Bps != 0; /* a link does not wait for the host */
        if (c->overruns > 0)
            backlog(c, WAITS_SHIFT);
        c->saturated = 0;
        set(c, recent_max(c, CAPACITY_RECENT), CAPACITY_SATURATED);
    } else if (c->capacity_Bps == 0) {
        return;
    } else if (measured(s) && recent_min(c) > c->capacity_Bps) {
        set(c, measured_rise(c), CAPACITY_MEASURED);
    } else if (s->hungry && c->hold == 0 && (!measured(s) || c->tight >= TIGHT_INTERVALS)) {
        c->tight = 0;
        set(c, clamp((u128)c->capacity_Bps + (c->capacity_Bps >> STEP_SHIFT)), CAPACITY_PROBED);
    }
}

uint64_t capacity_grant(const struct capacity *c)
{
    if (c->capacity_Bps == 0)
        return UINT64_MAX;
    if (c->drain > 0)
        return c->capacity_Bps - (c->capacity_Bps >> c->shift);
    if (c->overruns > 0)
        return c->capacity_Bps - (c->capacity_Bps >> RESERVE_SHIFT);
    return c->capacity_Bps + (c->capacity_Bps >> EXTRA_SHIFT);
}
