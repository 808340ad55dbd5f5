/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/trial.h"

#include <stddef.h>

#include "control/root.h"

/* Fits a line through the waits, over their sending times. */
static void line_find(const struct trial *t, struct trial_result *out)
{
    double n = t->judged, mean_t = t->sum_t / n, mean_d = t->sum_d / n;
    double tt = t->sum_tt - n * mean_t * mean_t, td = t->sum_td - n * mean_t * mean_d;

    if (tt <= 0 || n < 3)
        return;
    double slope = td / tt, rest = t->sum_dd - n * mean_d * mean_d - slope * td;

    out->growth = slope;
    if (rest <= 0)
        return;
    double r = (t->sum_next - n * mean_d * mean_d - slope * td) / rest;

    r = r < 0 ? 0 : r > 1 ? 1 : r;
    out->noise_ns = root(rest / n);
    double independent = n * (1 - r) / (1 + r); /* packets */

    if (independent < 1)
        independent = 1;
    out->error = root(rest / (n - 2) / tt * n / independent);
}

/* Adds the waits of a burst. */
static void line_add(struct trial *t, const struct sojourn_burst *b)
{
    double at = (double)(int64_t)(b->sent_ns - t->first.sent_ns);

    t->sum_t += b->packets * at;
    t->sum_tt += b->packets * at * at;
    t->sum_d += b->sum_ns;
    t->sum_dd += b->sum_squares;
    t->sum_td += at * b->sum_ns;
    t->sum_next += b->sum_next + b->first_ns * (t->judged > 0 ? t->last_d : b->first_ns);
    t->last_d = b->last_ns;
    t->judged += b->packets;
    t->min_ns = b->min_ns < t->min_ns ? b->min_ns : t->min_ns;
    t->max_ns = b->max_ns > t->max_ns ? b->max_ns : t->max_ns;
}

void trial_reset(struct trial *t)
{
    t->open = false;
}

void trial_older(struct trial *t)
{
    t->older += t->open;
}

/* A trial begins with the last packet of a poll. */
static void trial_begin(struct trial *t, const struct trial_packet *p)
{
    *t = (struct trial){.first = *p, .last = *p, .open = true, .min_ns = SOJOURN_NONE_NS};
}

/* a - b, or 0 if b is larger. */
static uint64_t beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t span_of(const struct trial *t)
{
    return t->last.arrived_ns - t->first.arrived_ns;
}

/* The sum of all stalls. */
static uint64_t stall_of(const struct trial *t)
{
    uint64_t sum = 0, none = t->increases_ns[TRIAL_STALLS] + span_of(t) / (t->packets + 1);

    for (uint32_t i = 0; i < TRIAL_STALLS; i++)
        sum += beyond(t->increases_ns[i], none);
    return sum;
}

/* The time in which the path stalled does not count: a trial that ended with it would see little
 * else. */
static bool trial_complete(const struct trial *t, uint64_t min_ns)
{
    return t->judged >= TRIAL_JUDGED && t->bytes > 0 &&
           t->last.number - t->first.number >= TRIAL_PACKETS && span_of(t) >= min_ns &&
           span_of(t) - min_ns >= stall_of(t) && t->last.sent_ns > t->first.sent_ns;
}

/* The packet p came next in order, gap_ns after the one before it was sent. What the receiver's
 * absence may have added is no increase of the path's delay. */
static void stall_add(struct trial *t, const struct trial_packet *p, uint64_t gap_ns)
{
    uint64_t ns = beyond(beyond(p->arrived_ns - t->last.arrived_ns, p->away_ns), gap_ns);

    for (uint32_t i = 0; i <= TRIAL_STALLS; i++) {
        if (ns <= t->increases_ns[i])
            continue;
        uint64_t smaller = t->increases_ns[i];

        t->increases_ns[i] = ns;
        ns = smaller;
    }
}

static void trial_result(const struct trial *t, struct trial_result *out)
{
    uint64_t numbers = t->last.number - t->first.number;
    uint64_t missing = numbers > t->packets ? numbers - t->packets : 0;
    uint64_t reordered = t->older < missing ? t->older : missing;
    uint64_t lost = missing - reordered, refused = t->refused < lost ? t->refused : lost;

    *out = (struct trial_result){
        .packets = t->packets,
        .bytes = t->bytes,
        .marked = t->marked,
        .lost = lost - refused,
        .runs = t->runs < lost - refused ? t->runs : lost - refused,
        .refused = refused,
        .reordered = reordered,
        .arrived_ns = span_of(t) + t->first.away_ns,
        .sent_ns = t->last.sent_ns - t->first.sent_ns,
        .min_ns = (uint64_t)t->min_ns,
        .away_ns = t->last.away_ns,
        .mean_ns = (uint64_t)(t->sum_d / t->judged),
        .gap_ns = t->gap_ns,
        .stall_ns = stall_of(t),
        .paused = t->paused,
        .max_ns = (uint64_t)t->max_ns,
    };
    line_find(t, out);
}

bool trial_add(struct trial *t, const struct trial_packet *p, const struct sojourn_burst *burst,
               uint64_t min_ns, struct trial_result *out)
{
    bool complete = false;

    if (t->open && p->arrived_ns == t->first.arrived_ns && p->number < t->first.number)
        return false; /* out of order, from the same poll as the first packet */
    if (!t->open || p->arrived_ns == t->first.arrived_ns) {
        trial_begin(t, p);
        return false;
    }
    if (burst != NULL)
        line_add(t, burst);
    if (p->arrived_ns != t->last.arrived_ns && trial_complete(t, min_ns)) {
        struct trial_packet last = t->last;

        trial_result(t, out);
        trial_begin(t, &last);
        complete = true;
    }
    t->paused = t->paused || t->last.ended;
    t->last.ended = p->ended;
    t->packets++;
    t->bytes += p->bytes;
    t->marked += p->marked;
    if (p->number > t->last.number) {
        uint64_t passed = p->number - t->last.number - 1;
        int64_t since_ns = (int64_t)(p->sent_ns - t->last.sent_ns); /* a peer may say anything */
        uint64_t gap_ns = since_ns > 0 ? (uint64_t)since_ns : 0;

        t->refused += p->refused ? passed : 0;
        t->runs += passed > 0 && !p->refused;
        stall_add(t, p, gap_ns);
        if (gap_ns > t->gap_ns)
            t->gap_ns = gap_ns;
        t->last.number = p->number;
        t->last.sent_ns = p->sent_ns;
    }
    t->last.arrived_ns = p->arrived_ns;
    t->last.away_ns = p->away_ns;
    return complete;
}
