/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/trial.h"

#include "control/root.h"

/* Fits a line through the increments, over their sending times. */
static void line_find(const struct trial *t, struct trial_result *out)
{
    double n = (double)t->packets, mean_t = t->sum_t / n, mean_d = (double)t->sum_ns / n;
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

static void line_add(struct trial *t, const struct trial_packet *p)
{
    double at = (double)(int64_t)(p->sent_ns - t->first.sent_ns), d = (double)p->increment_ns;

    t->sum_t += at;
    t->sum_tt += at * at;
    t->sum_dd += d * d;
    t->sum_td += at * d;
    t->sum_next += d * (t->packets > 1 ? t->last_d : d);
    t->last_d = d;
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
    *t = (struct trial){.first = *p, .last = *p, .open = true};
    t->min_ns = UINT64_MAX;
}

static bool trial_complete(const struct trial *t, uint64_t min_ns)
{
    return t->late && t->bytes > 0 && t->last.number - t->first.number >= TRIAL_PACKETS &&
           t->last.arrived_ns - t->first.arrived_ns >= min_ns &&
           (t->late_packets == 1 || t->spread) && t->last.sent_ns > t->first.sent_ns;
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
        .arrived_ns = t->last.arrived_ns - t->first.arrived_ns,
        .sent_ns = t->last.sent_ns - t->first.sent_ns,
        .min_ns = t->min_ns,
        .away_ns = t->last.away_ns,
        .mean_ns = t->sum_ns / t->packets,
        .gap_ns = t->gap_ns,
        .paused = t->paused,
        .max_ns = t->max_ns,
    };
    line_find(t, out);
}

bool trial_add(struct trial *t, const struct trial_packet *p, uint64_t min_ns,
               struct trial_result *out)
{
    bool complete = false;

    if (t->open && p->arrived_ns == t->first.arrived_ns && p->number < t->first.number)
        return false; /* out of order, from the same poll as the first packet */
    if (!t->open || p->arrived_ns == t->first.arrived_ns) {
        trial_begin(t, p);
        return false;
    }
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
    t->sum_ns += p->increment_ns;
    line_add(t, p);
    t->late = t->late ||
              (t->packets > TRIAL_PACKETS / 2 && p->arrived_ns - t->first.arrived_ns > min_ns / 2);
    if (t->late && t->late_packets++ == 0)
        t->late_sent_ns = p->sent_ns;
    t->spread = t->spread || (t->late && p->sent_ns != t->late_sent_ns);
    t->min_ns = p->increment_ns < t->min_ns ? p->increment_ns : t->min_ns;
    t->max_ns = p->increment_ns > t->max_ns ? p->increment_ns : t->max_ns;
    if (p->number > t->last.number) {
        uint64_t passed = p->number - t->last.number - 1;

        t->refused += p->refused ? passed : 0;
        t->runs += passed > 0 && !p->refused;
        if ((int64_t)(p->sent_ns - t->last.sent_ns) > (int64_t)t->gap_ns)
            t->gap_ns = p->sent_ns - t->last.sent_ns;
        t->last.number = p->number;
        t->last.sent_ns = p->sent_ns;
    }
    t->last.arrived_ns = p->arrived_ns;
    t->last.away_ns = p->away_ns;
    return complete;
}
