/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/occupancy.h"

#define NS_PER_US 1000

const struct occupancy_law occupancy_single = {
    .n = 1,
    .level = {1},
    .alpha_per_us = {2e-5},
    .beta = {1.02},
};
const struct occupancy_law occupancy_dual = {
    .n = 2,
    .level = {1, 7},
    .alpha_per_us = {1e-5},
    .beta = {1.003, 1.2 * 1.003},
};
const struct occupancy_law occupancy_triple = {
    .n = 3,
    .zero = 1,
    .level = {1, 2, 7},
    .alpha_per_us = {2.5e-6, 5 * 2.5e-6},
    .beta = {1.0045, 1.2 * 1.0045},
};

static uint32_t zones_above(const struct occupancy_law *law)
{
    return law->n - law->zero;
}

static uint32_t zones_below(const struct occupancy_law *law)
{
    return law->zero + 1;
}

bool occupancy_law_right(const struct occupancy_law *law)
{
    if (law->n == 0 || law->n > OCCUPANCY_THRESHOLDS_MAX || law->zero >= law->n ||
        !(law->beta[0] > 1 && law->alpha_per_us[0] > 0))
        return false;
    for (uint32_t i = 1; i < law->n; i++)
        if (law->level[i] <= law->level[i - 1])
            return false;
    for (uint32_t k = 1; k < zones_above(law); k++)
        if (!(law->beta[k] > law->beta[k - 1]))
            return false;
    for (uint32_t k = 1; k < zones_below(law); k++)
        if (!(law->alpha_per_us[k] > law->alpha_per_us[k - 1]))
            return false;
    return true;
}

/* ---- the receiver ---------------------------------------------------------------------------- */

/* The zone of a level that has `below` thresholds below it. */
static int8_t zone_of(const struct occupancy_law *law, uint32_t below)
{
    return (int8_t)((int32_t)below - (int32_t)law->zero - 1);
}

void occupancy_init(struct occupancy *o, const struct occupancy_law *law)
{
    *o = (struct occupancy){.law = law, .zone = zone_of(law, 0)};
}

bool occupancy_update(struct occupancy *o, uint64_t level)
{
    const struct occupancy_law *law = o->law;
    int8_t before = o->zone;
    uint32_t below = (uint32_t)(before + (int32_t)law->zero + 1);

    while (below < law->n && level > law->level[below])
        below++;
    while (below > 0 && level < law->level[below - 1])
        below--;
    o->zone = zone_of(law, below);
    o->crossings += o->zone != before;
    return o->zone != before;
}

/* ---- the sender ------------------------------------------------------------------------------ */

static void interval_apply(struct occupancy_pace *p)
{
    double us = p->before_us;

    us = p->zone >= 0 ? p->law->beta[p->zone] * us
                      : 1 / (p->law->alpha_per_us[-1 - p->zone] + 1 / us);
    us = us < p->max_us ? us : p->max_us;
    p->interval_us = us > p->min_us ? us : p->min_us;
}

void occupancy_pace_init(struct occupancy_pace *p, const struct occupancy_law *law,
                         uint64_t interval_ns, uint64_t min_ns, uint64_t max_ns)
{
    *p = (struct occupancy_pace){
        .law = law,
        .zone = zone_of(law, 0),
        .interval_us = (double)interval_ns / NS_PER_US,
        .before_us = (double)interval_ns / NS_PER_US,
        .min_us = (double)min_ns / NS_PER_US,
        .max_us = (double)max_ns / NS_PER_US,
    };
}

void occupancy_pace_sent(struct occupancy_pace *p, uint64_t now_ns)
{
    p->sent_ns = now_ns;
    p->before_us = p->interval_us;
    interval_apply(p);
}

void occupancy_pace_signal(struct occupancy_pace *p, int8_t zone)
{
    int32_t top = (int32_t)zones_above(p->law) - 1, bottom = -(int32_t)zones_below(p->law);

    zone = (int8_t)(zone > top ? top : zone < bottom ? bottom : zone);
    if (zone == p->zone)
        return;
    p->zone = zone;
    interval_apply(p);
}

uint64_t occupancy_pace_next(const struct occupancy_pace *p)
{
    return p->sent_ns + (uint64_t)(p->interval_us * NS_PER_US);
}
