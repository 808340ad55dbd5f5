/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/pace's pacer: each flow has a rate and a burst of one frame, and no contract.
 */
#include "pace/pacer.h"
#include "pace_flow.h"

struct sluice {
    const struct pace_load *load;
    struct pacer *pacer;
    void *storage;
    size_t bytes;
};

static void destroy(void *engine)
{
    struct sluice *s = engine;

    if (s == NULL)
        return;
    rte_free(s->storage);
    rte_free(s);
}

static void *create(const struct pace_load *load)
{
    struct pacer_config config = {.flows = load->flows, .lines = 0, .hz = load->hz};
    struct sluice *s = pace_memory(sizeof *s);

    if (s == NULL)
        return NULL;
    s->load = load;
    s->bytes = pacer_storage_bytes(&config);
    s->storage = pace_memory(s->bytes);
    if (s->storage == NULL) {
        destroy(s);
        return NULL;
    }
    s->pacer = pacer_init(s->storage, &config, load->start_tsc);
    return s;
}

/* RTIMER runs from the moment at which a flow gets its rate. A rate set at each flow's start
 * spreads the phases out. */
static void start(void *engine, uint32_t flow, uint64_t now)
{
    const struct sluice *s = engine;

    pacer_flow_set(s->pacer, flow, s->load->rate_Bps[s->load->class_of[flow]], s->load->frame_bytes,
                   now);
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct sluice *s = engine;

    return pacer_poll(s->pacer, now, (void **)packets, max);
}

static void push(void *engine, struct rte_mbuf **packets, uint32_t n, uint64_t now)
{
    struct sluice *s = engine;

    for (uint32_t i = 0; i < n; i++)
        pacer_push(s->pacer, pace_flow_of(packets[i]), packets[i], packets[i]->pkt_len, now);
}

static size_t footprint_bytes(const void *engine)
{
    const struct sluice *s = engine;

    return s->bytes;
}

const struct pace_engine pace_sluice = {.name = "sluice",
                                        .create = create,
                                        .destroy = destroy,
                                        .mark = pace_mark,
                                        .flow_of = pace_flow_of,
                                        .start = start,
                                        .push = push,
                                        .pull = pull,
                                        .footprint_bytes = footprint_bytes};
