/* SPDX-License-Identifier: BSD-3-Clause */
#include "pace_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/rng.h"
#include "pace_flow.h"

#define SLOTS_MAX (1u << 24)

/* time for a set-up, and for each flow of it */
#define SETUP_S      1e-3
#define SETUP_FLOW_S 1.5e-6

/* A class's rate, as a multiple of the slowest. */
static double class_rate(uint32_t class)
{
    return pow(PACE_SPAN, (double)class / (PACE_CLASSES - 1));
}

static int start_compare(const void *a, const void *b)
{
    const struct pace_start *x = a, *y = b;

    return (x->when > y->when) - (x->when < y->when);
}

void pace_plan_init(struct pace_plan *plan, uint32_t flows, uint32_t slot_tsc,
                    struct rte_mbuf **packets)
{
    struct rng rng;

    rng_init(&rng, flows);
    *plan = (struct pace_plan){.flows = flows, .slot_tsc = slot_tsc, .packets = packets};
    plan->class_of = malloc(flows);
    plan->starts = malloc(flows * sizeof *plan->starts);
    if (plan->class_of == NULL || plan->starts == NULL) {
        fprintf(stderr, "pace_compare: no memory for %u flows\n", flows);
        exit(1);
    }
    for (uint32_t i = 0; i < flows; i++) {
        uint32_t other = (uint32_t)rng_below(&rng, i + 1);

        plan->class_of[i] = plan->class_of[other];
        plan->class_of[other] = (uint8_t)(i % PACE_CLASSES);
        plan->in_class[i % PACE_CLASSES]++;
    }
    for (uint32_t i = 0; i < flows; i++) {
        double part = (double)(rng_u64(&rng) >> 11) * 0x1p-53;

        plan->starts[i].flow = i;
        plan->starts[i].when = (float)(part / class_rate(plan->class_of[i]));
    }
    qsort(plan->starts, flows, sizeof *plan->starts, start_compare);
}

void pace_plan_free(struct pace_plan *plan)
{
    free(plan->class_of);
    free(plan->starts);
}

void pace_load_init(struct pace_load *load, const struct pace_plan *plan, double pps,
                    bool real_time)
{
    double sum = 0;

    *load = (struct pace_load){.flows = plan->flows,
                               .frame_bytes = PACE_FRAME_BYTES,
                               .hz = rte_get_tsc_hz(),
                               .start_tsc = rte_rdtsc(),
                               .slot_tsc = plan->slot_tsc,
                               .in_class = plan->in_class,
                               .class_of = plan->class_of,
                               .packets = plan->packets};
    for (uint32_t i = 0; i < PACE_CLASSES; i++)
        sum += class_rate(i) * plan->in_class[i];
    for (uint32_t i = 0; i < PACE_CLASSES; i++) {
        double rate_Bps = class_rate(i) / sum * pps * PACE_FRAME_BYTES;

        load->rate_Bps[i] = (uint64_t)(rate_Bps + 0.5) + (rate_Bps < 0.5);
    }
    if (real_time)
        load->setup_tsc = (uint64_t)((SETUP_S + plan->flows * SETUP_FLOW_S) * (double)load->hz);
}

double pace_load_pps(const struct pace_load *load)
{
    double rate_Bps = 0;

    for (uint32_t i = 0; i < PACE_CLASSES; i++)
        rate_Bps += (double)load->rate_Bps[i] * load->in_class[i];
    return rate_Bps / load->frame_bytes;
}

double pace_class_period(const struct pace_load *load, uint32_t class)
{
    return (double)load->frame_bytes * (double)load->hz / (double)load->rate_Bps[class];
}

struct pace_slots pace_slots_for(const struct pace_load *load)
{
    /* with few flows the fast classes are empty */
    double shortest = pace_class_period(load, RTE_MIN(load->flows, PACE_CLASSES) - 1);
    double width = fmin(load->slot_tsc, shortest / 4);
    struct pace_slots slots = {.shift = width < 2 ? 0 : (uint32_t)log2(width)};
    uint64_t longest = (uint64_t)pace_class_period(load, 0) + load->setup_tsc;

    while (longest >> slots.shift > SLOTS_MAX - 2)
        slots.shift++;
    slots.count = rte_align64pow2((longest >> slots.shift) + 2);
    slots.shift += PACE_FRACTION_BITS;
    return slots;
}

struct pace_flow *pace_flows_create(const struct pace_load *load)
{
    struct pace_flow *flows = pace_memory(load->flows * sizeof *flows);

    if (flows == NULL)
        return NULL;
    for (uint32_t i = 0; i < load->flows; i++)
        flows[i].cost =
            (uint64_t)(pace_period_tsc(load, i) / load->frame_bytes * (1 << PACE_COST_BITS) + 0.5);
    return flows;
}
