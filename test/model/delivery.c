/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/delivery.h"

#include <rte_common.h>

void delivery_sent(struct delivery *d, struct delivery_mark *mark, uint64_t now_ns,
                   uint64_t in_flight)
{
    if (in_flight == 0)
        d->first_sent_ns = d->delivered_ns = now_ns;
    *mark = (struct delivery_mark){.sent_ns = now_ns,
                                   .delivered = d->delivered,
                                   .delivered_ns = d->delivered_ns,
                                   .first_sent_ns = d->first_sent_ns,
                                   .lost = d->lost,
                                   .in_flight = (uint32_t)in_flight + 1,
                                   .limited = d->limited_until > 0};
}

void delivery_begin(struct delivery_sample *s)
{
    *s = (struct delivery_sample){0};
}

void delivery_came(struct delivery *d, struct delivery_sample *s, uint64_t segment,
                   const struct delivery_mark *mark, uint64_t now_ns)
{
    d->delivered++;
    d->delivered_ns = now_ns;
    if (mark == NULL)
        return;
    if (s->some && (mark->sent_ns < d->first_sent_ns ||
                    (mark->sent_ns == d->first_sent_ns && segment < s->newest)))
        return;
    s->some = true;
    s->newest = segment;
    s->prior = mark->delivered;
    s->prior_ns = mark->delivered_ns;
    s->prior_lost = mark->lost;
    s->in_flight = mark->in_flight;
    s->limited = mark->limited;
    s->sending_ns = mark->sent_ns - mark->first_sent_ns;
    s->answering_ns = now_ns - mark->delivered_ns;
    d->first_sent_ns = mark->sent_ns;
}

void delivery_end(struct delivery *d, struct delivery_sample *s, uint64_t min_rtt_ns)
{
    if (d->limited_until > 0 && d->delivered > d->limited_until)
        d->limited_until = 0;
    if (!s->some)
        return;
    s->interval_ns = RTE_MAX(s->sending_ns, s->answering_ns);
    s->volume = (uint32_t)(d->delivered - s->prior);
    s->lost = (uint32_t)(d->lost - s->prior_lost);
    if (s->interval_ns > 0 && s->interval_ns >= min_rtt_ns)
        s->rate = s->volume * 1e9 / (double)s->interval_ns;
}

void delivery_limit(struct delivery *d, uint64_t in_flight)
{
    d->limited_until = RTE_MAX(d->delivered + in_flight, 1ull);
}
