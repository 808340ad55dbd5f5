/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/trial.h"

void trial_reset(struct trial *t)
{
    t->open = false;
}

void trial_older(struct trial *t)
{
    t->older += t->open;
}

/* The trial begins with the last packet of a poll. */
static void trial_begin(struct trial *t, const struct trial_packet *p)
{
    *t = (struct trial){.first = *p, .last = *p, .open = true};
    t->early_ns = t->late_ns = UINT64_MAX;
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

    *out = (struct trial_result){
        .packets = t->packets,
        .bytes = t->bytes,
        .marked = t->marked,
        .lost = missing - reordered,
        .reordered = reordered,
        .arrived_ns = t->last.arrived_ns - t->first.arrived_ns,
        .sent_ns = t->last.sent_ns - t->first.sent_ns,
        .early_ns = t->early_ns,
        .late_ns = t->late_ns,
        .away_ns = t->away_ns,
        .mean_ns = t->sum_ns / t->packets,
        .most_ns = t->most_ns,
    };
}

bool trial_add(struct trial *t, const struct trial_packet *p, uint64_t min_ns,
               struct trial_result *out)
{
    bool complete = false;

    if (t->open && p->arrived_ns == t->first.arrived_ns && p->number < t->first.number)
        return false; /* of the same poll, out of order */
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
    if (p->arrived_ns != t->last.arrived_ns)
        t->away_ns += p->away_ns;
    t->packets++;
    t->bytes += p->bytes;
    t->marked += p->marked;
    t->sum_ns += p->increment_ns;
    t->late = t->late ||
              (t->packets > TRIAL_PACKETS / 2 && p->arrived_ns - t->first.arrived_ns > min_ns / 2);
    if (t->late && t->late_packets++ == 0)
        t->late_sent_ns = p->sent_ns;
    t->spread = t->spread || (t->late && p->sent_ns != t->late_sent_ns);
    uint64_t *least = t->late ? &t->late_ns : &t->early_ns;

    *least = p->increment_ns < *least ? p->increment_ns : *least;
    t->most_ns = p->increment_ns > t->most_ns ? p->increment_ns : t->most_ns;
    if (p->number > t->last.number) {
        t->last.number = p->number;
        t->last.sent_ns = p->sent_ns;
    }
    t->last.arrived_ns = p->arrived_ns;
    return complete;
}
