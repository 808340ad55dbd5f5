/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/cubic.h"

#define C               0.4
#define BETA            0.7
#define RENO            (3 * (1 - BETA) / (1 + BETA)) /* segments a round trip */
#define SSTHRESH_MIN    2.0
#define TARGET_MAX      1.5
#define HYSTART_CWND    16.0
#define HYSTART_SAMPLES 8u
#define HYSTART_MIN     4000000u
#define HYSTART_MAX     16000000u

void cubic_init(struct cubic *c, double cwnd, bool hystart)
{
    *c = (struct cubic){.cwnd = cwnd, .ssthresh = 1e12, .epoch_s = -1, .hystart = hystart};
    c->round_rtt_ns = c->min_rtt_ns = UINT64_MAX;
}

static double cube_root(double x)
{
    double y = x > 1 ? x : 1;

    for (int i = 0; i < 200; i++) {
        double next = (2 * y + x / (y * y)) / 3;

        if (next >= y)
            break;
        y = next;
    }
    return x > 0 ? y : 0;
}

static double curve(const struct cubic *c, double t_s)
{
    double t = t_s - c->k_s;

    return C * t * t * t + c->w_max;
}

void cubic_rtt(struct cubic *c, uint64_t rtt_ns, uint64_t una, uint64_t nxt)
{
    c->min_rtt_ns = rtt_ns < c->min_rtt_ns ? rtt_ns : c->min_rtt_ns;
    if (!c->hystart || c->cwnd >= c->ssthresh)
        return;
    if (una >= c->round_end) {
        c->round_end = nxt;
        c->round_rtt_ns = UINT64_MAX;
        c->round_samples = 0;
    }
    if (c->round_samples >= HYSTART_SAMPLES)
        return;
    c->round_rtt_ns = rtt_ns < c->round_rtt_ns ? rtt_ns : c->round_rtt_ns;
    if (++c->round_samples < HYSTART_SAMPLES || c->cwnd < HYSTART_CWND)
        return;
    uint64_t grown = c->min_rtt_ns / 8;

    grown = grown < HYSTART_MIN ? HYSTART_MIN : grown > HYSTART_MAX ? HYSTART_MAX : grown;
    if (c->round_rtt_ns >= c->min_rtt_ns + grown)
        c->ssthresh = c->cwnd;
}

static void epoch_begin(struct cubic *c, double now_s)
{
    c->epoch_s = now_s;
    c->reno = c->cwnd;
    if (c->cwnd < c->w_max) {
        c->k_s = cube_root((c->w_max - c->cwnd) / C);
    } else {
        c->k_s = 0;
        c->w_max = c->cwnd;
    }
}

void cubic_ack(struct cubic *c, uint32_t segments, double rtt_s, double now_s)
{
    if (c->cwnd < c->ssthresh) {
        c->cwnd += segments;
        return;
    }
    if (c->epoch_s < 0)
        epoch_begin(c, now_s);
    double t = now_s - c->epoch_s, target = curve(c, t + rtt_s);

    c->reno += (c->reno < c->prior ? RENO : 1) * segments / c->cwnd;
    if (curve(c, t) < c->reno) {
        c->cwnd = c->reno > c->cwnd ? c->reno : c->cwnd;
        return;
    }
    target = target > TARGET_MAX * c->cwnd ? TARGET_MAX * c->cwnd : target;
    if (target > c->cwnd)
        c->cwnd += (target - c->cwnd) / c->cwnd * segments;
}

void cubic_loss(struct cubic *c)
{
    c->w_max = c->cwnd < c->w_max ? c->cwnd * (1 + BETA) / 2 : c->cwnd;
    c->prior = c->cwnd;
    c->ssthresh = c->cwnd * BETA > SSTHRESH_MIN ? c->cwnd * BETA : SSTHRESH_MIN;
    c->epoch_s = -1;
}
