/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/sojourn.h"

#include "base/clock.h"

void sojourn_init(struct sojourn *s)
{
    *s = (struct sojourn){0};
}

/* By how much the sender's stamp after the newest burst came late. A packet that overtook others
 * says as much as those between would have said. */
static double late_ns(const struct sojourn_burst *b, const struct sojourn_packet *next)
{
    double between = (double)(next->number - b->number);
    double bytes = between * (double)b->bytes / b->packets;
    double late =
        (double)(next->sent_ns - b->sent_ns) - bytes * CLOCK_NS_PER_S / (double)next->rate_Bps;

    return late > 0 ? late : 0;
}

/* Lowers all waits of the newest burst as far as a late sender allows, but not below the wait
 * before it. */
static void burst_lower(struct sojourn *s, double late)
{
    struct sojourn_burst *b = &s->burst;
    double excess = b->min_ns - s->before_ns, by = excess < late ? excess : late, n = b->packets;

    if (by <= 0)
        return;
    b->sum_squares += by * (n * by - 2 * b->sum_ns);
    b->sum_next += by * ((n - 1) * by - (2 * b->sum_ns - b->first_ns - b->last_ns));
    b->sum_ns -= n * by;
    b->first_ns -= by;
    b->last_ns -= by;
    b->min_ns -= by;
    b->max_ns -= by;
}

static void burst_begin(struct sojourn *s, const struct sojourn_packet *p)
{
    s->before_ns = s->burst.last_ns;
    s->burst = (struct sojourn_burst){.number = p->number,
                                      .sent_ns = p->sent_ns,
                                      .last_ns = s->before_ns,
                                      .min_ns = SOJOURN_NONE_NS};
}

static void burst_add(struct sojourn_burst *b, const struct sojourn_packet *p)
{
    double bound = (double)p->bound_ns, least = bound - (double)p->unseen_ns, wait = b->last_ns;

    wait = wait < least ? least : wait > bound ? bound : wait;
    if (b->packets == 0)
        b->first_ns = wait;
    else
        b->sum_next += wait * b->last_ns;
    b->packets++;
    b->bytes += p->bytes;
    b->sum_ns += wait;
    b->sum_squares += wait * wait;
    b->min_ns = wait < b->min_ns ? wait : b->min_ns;
    b->max_ns = wait > b->max_ns ? wait : b->max_ns;
    b->last_ns = wait;
}

bool sojourn_add(struct sojourn *s, const struct sojourn_packet *p, struct sojourn_burst *out)
{
    struct sojourn_burst *b = &s->burst;
    bool judged = b->packets > 0 && p->sent_ns != b->sent_ns;

    if (judged) {
        if ((int64_t)(p->sent_ns - b->sent_ns) > 0 && p->number > b->number)
            burst_lower(s, late_ns(b, p));
        *out = *b;
    }
    if (judged || b->packets == 0)
        burst_begin(s, p);
    burst_add(b, p);
    return judged;
}
