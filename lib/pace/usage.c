/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace/usage.h"

#include "base/mul_div.h"

#define DRIFT_SHIFT 10u /* a sender's clock may be faster by 1/1024 */
#define SEEN_LATES  2u  /* a CNTL counts as seen after 2 S, whatever the peer shows */
#define GONE_LATES  3u  /* and S later, no packet of older grants comes any more */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void grants_join(struct usage_grants *g, const struct usage_grants *other)
{
    g->rate_Bps = max_u64(g->rate_Bps, other->rate_Bps);
    g->burst_bytes = max_u64(g->burst_bytes, other->burst_bytes);
    g->unlimited = g->unlimited || other->unlimited;
}

/* Bounds of all grants of the window, at the speed of the fastest clock. */
static struct usage_grants window_grants(const struct usage_window *w)
{
    struct usage_grants all = w->older;

    grants_join(&all, &w->newer);
    all.rate_Bps += all.rate_Bps >> DRIFT_SHIFT;
    return all;
}

static void window_add(struct usage_window *w, uint32_t seq, const struct usage_grants *g,
                       uint64_t now)
{
    if (w->mark == 0) {
        w->mark = seq;
        w->mark_at = now;
    }
    grants_join(&w->newer, g);
}

/* The peer has seen the CNTL `mark`: the next mark is the newest CNTL. */
static void window_turn(struct usage_window *w, const struct usage *a, uint64_t now)
{
    w->older = w->newer;
    w->newer = a->newest;
    w->mark = a->newest_seq;
    w->mark_at = now;
}

static bool unlimited(const struct usage *a)
{
    return window_grants(&a->late).unlimited;
}

/* What the bucket holds; below 2^63, for rates are below 2^49. */
static uint64_t room_bytes(const struct usage *a)
{
    const struct usage_grants late = window_grants(&a->late);

    return mul_div(a->late_tsc, late.rate_Bps, a->hz) + 1 + 2 * late.burst_bytes + a->unit_bytes +
           a->first_bytes;
}

/* Adds what the time up to `now` has earned. */
static void earn(struct usage *a, uint64_t now)
{
    uint64_t room = room_bytes(a), passed = now - a->at;
    unsigned __int128 earned =
        (unsigned __int128)passed * window_grants(&a->soon).rate_Bps + a->part;

    a->at = now;
    a->part = (uint64_t)(earned % a->hz);
    earned = earned / a->hz + a->left_bytes;
    a->left_bytes = earned < room ? (uint64_t)earned : room;
}

/* Forgets the grants of which no packet will come any more. */
static void late_turn(struct usage *a, uint64_t now)
{
    bool over = a->seen_at != 0 ? now - a->seen_at > a->late_tsc
                                : now - a->late.mark_at > GONE_LATES * a->late_tsc;

    if (a->late.mark == 0 || !over)
        return;
    window_turn(&a->late, a, now);
    a->first_bytes = 0;
    a->seen_at = 0;
}

void usage_init(struct usage *a, uint64_t hz, uint64_t late_tsc, uint64_t unit_bytes,
                uint64_t first_bytes, uint64_t now)
{
    *a = (struct usage){.hz = hz,
                        .late_tsc = late_tsc,
                        .unit_bytes = unit_bytes,
                        .first_bytes = first_bytes,
                        .at = now};
    a->left_bytes = room_bytes(a);
}

void usage_fill(struct usage *a, uint64_t now)
{
    bool was_unlimited = unlimited(a);

    if (!was_unlimited)
        earn(a, now);
    a->at = now;
    if (a->soon.mark != 0 && now - a->soon.mark_at > SEEN_LATES * a->late_tsc)
        window_turn(&a->soon, a, now);
    late_turn(a, now);
    if (unlimited(a)) {
        a->left_bytes = UINT64_MAX;
        return;
    }
    uint64_t room = room_bytes(a);

    if (was_unlimited || a->left_bytes > room)
        a->left_bytes = room;
}

/* The peer has seen CNTL number seq, which is the next mark or newer. */
void usage_turn(struct usage *a, uint32_t seq, uint64_t now)
{
    usage_fill(a, now);
    a->turned_seq = seq;
    if ((int32_t)(seq - a->soon.mark) >= 0)
        window_turn(&a->soon, a, now);
    if (a->seen_at == 0 && (int32_t)(seq - a->late.mark) >= 0)
        a->seen_at = now;
}

void usage_advertise(struct usage *a, uint32_t seq, uint64_t rate_Bps, uint64_t burst_bytes,
                     uint64_t now)
{
    const struct usage_grants g = {rate_Bps, burst_bytes, burst_bytes == 0};
    bool same = a->soon.mark != 0 && g.rate_Bps == a->newest.rate_Bps &&
                g.burst_bytes == a->newest.burst_bytes;

    usage_fill(a, now);
    a->newest_seq = seq;
    if (same)
        return;
    uint64_t burst = window_grants(&a->late).burst_bytes;

    a->newest = g;
    window_add(&a->soon, seq, &g, now);
    window_add(&a->late, seq, &g, now);
    if (unlimited(a))
        a->left_bytes = UINT64_MAX;
    else /* a sender's credit may grow to the longer burst at once */
        a->left_bytes += 2 * (window_grants(&a->late).burst_bytes - burst);
}
