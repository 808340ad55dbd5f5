/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/bottleneck.h"

#include "base/clock.h"

#define AVERAGE_RTTS 32 /* an average spans so many times the longest round trip */
#define AVERAGE_MIN  8  /* an average spans at least so many intervals */
#define APART        16 /* spans of an average for which a connection is left out at first */
#define APART_MAX    1024
#define LESS         0.9        /* of its part by weight: with less, a member may wait elsewhere */
#define MORE         2.0        /* times the others' average wait or loss */
#define LOSS_MIN     (1.0 / 16) /* of packets: by chance, a full queue drops more of one flow */

void bottleneck_begin(struct bottleneck *b, uint64_t interval_ns)
{
    double average = AVERAGE_RTTS * b->longest_rtt_ns, least = AVERAGE_MIN * (double)interval_ns;

    *b = (struct bottleneck){
        .time_ns = b->time_ns + interval_ns,
        .interval_ns = interval_ns,
        .average_ns = average > least ? average : least,
        .last = b->sum,
    };
}

static void sum_add(struct bottleneck_sum *s, const struct bottleneck_flow *f, double times)
{
    s->members += times;
    s->wait_ns += times * f->wait_ns;
    s->loss += times * f->loss;
    s->unit_bytes += times * f->unit_bytes;
    s->rate_Bps += times * f->rate_Bps;
    s->weight += times * f->weight;
}

/* Does the connection have less than the others, although it waits longer or loses more? */
static bool differs(const struct bottleneck *b, const struct bottleneck_flow *f,
                    const struct bottleneck_sum *others)
{
    if ((double)f->since_ns < b->average_ns || others->members < 1)
        return false;
    double packets_ns = others->unit_bytes * CLOCK_NS_PER_S / (others->rate_Bps + 1);
    double wait_ns = others->wait_ns / others->members;
    double part_Bps = f->weight * others->rate_Bps / others->weight;
    double loss = others->loss / others->members;

    return f->rate_Bps < LESS * part_Bps &&
           (f->wait_ns > MORE * wait_ns + packets_ns || f->loss > MORE * loss + LOSS_MIN);
}

/* Was the connection a member in the interval that ended at time_ns? When a connection leaves, its
 * time as a member starts again from 0. */
static bool member_at(const struct bottleneck_flow *f, uint64_t time_ns)
{
    return f->since_ns > 0 && f->looked_at_ns == time_ns;
}

static void leave(const struct bottleneck *b, struct bottleneck_flow *f)
{
    uint64_t average = (uint64_t)b->average_ns;

    if (f->next_ns < APART * average)
        f->next_ns = APART * average;
    f->apart_ns = b->time_ns + f->next_ns;
    if (f->next_ns < APART_MAX * average)
        f->next_ns *= 2;
    f->since_ns = 0;
}

/* Adds a sample to the averages. A pause longer than average_ns clears the averages
 * first. */
static void average(const struct bottleneck *b, struct bottleneck_flow *f,
                    const struct bottleneck_sample *s)
{
    if ((double)(b->time_ns - f->looked_at_ns) > b->average_ns)
        f->since_ns = 0;
    f->looked_at_ns = b->time_ns;
    f->since_ns += b->interval_ns;
    double over = (double)f->since_ns < b->average_ns ? (double)f->since_ns : b->average_ns;
    double part = (double)b->interval_ns / over;

    f->wait_ns += ((double)s->wait_ns - f->wait_ns) * part;
    f->loss += ((double)s->lost_ppm / 1e6 - f->loss) * part;
    f->rate_Bps += ((double)s->rate_Bps - f->rate_Bps) * part;
    f->unit_bytes = (double)s->unit_bytes;
    f->weight = s->weight;
    f->keeps = s->keeps;
}

void bottleneck_look(struct bottleneck *b, struct bottleneck_flow *f,
                     const struct bottleneck_sample *s)
{
    if (f->apart_ns > b->time_ns)
        return;
    struct bottleneck_sum others = b->last;

    if (member_at(f, b->time_ns - b->interval_ns))
        sum_add(&others, f, -1);
    average(b, f, s);
    if (differs(b, f, &others)) {
        leave(b, f);
        return;
    }
    sum_add(&b->sum, f, 1);
    if (!f->keeps) {
        sum_add(&b->sharing, f, 1);
        b->granted_Bps += (double)s->rate_Bps;
    }
    if ((double)s->rtt_ns > b->longest_rtt_ns)
        b->longest_rtt_ns = (double)s->rtt_ns;
}

uint64_t bottleneck_fair(const struct bottleneck *b, const struct bottleneck_flow *f)
{
    if (!member_at(f, b->time_ns) || f->keeps || b->sharing.members < 2)
        return 0;
    return (uint64_t)(b->granted_Bps / b->sharing.weight * f->weight) + 1;
}
