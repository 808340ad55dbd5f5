/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/pace's pacer: rate and burst of one frame for each flow, no contracts.
 */
#include <rte_prefetch.h>

#include "pace/pacer.h"
#include "pace_flow.h"

struct sluice {
    struct pacer *pacer;
    void *storage;
    size_t bytes;
};

static void destroy(void *engine)
{
    struct sluice *s = engine;

    rte_free(s->storage);
    rte_free(s);
}

static void *create(const struct pace_load *load)
{
    struct pacer_config config = {
        .flows = load->flows, .packets = load->flows * PACE_BACKLOG, .hz = load->hz};
    struct sluice *s = pace_memory(sizeof *s);

    if (s == NULL)
        return NULL;
    s->bytes = pacer_storage_bytes(&config);
    s->storage = pace_memory(s->bytes);
    if (s->storage == NULL) {
        destroy(s);
        return NULL;
    }
    s->pacer = pacer_init(s->storage, &config, load->start_tsc);
    for (uint32_t i = 0; i < load->flows; i++)
        pacer_flow_set(s->pacer, i, load->rate_Bps[load->class_of[i]], load->frame_bytes,
                       load->start_tsc);
    return s;
}

static uint32_t pull(void *engine, uint64_t now, struct rte_mbuf **packets, uint32_t max)
{
    struct sluice *s = engine;
    uint32_t n = pacer_poll(s->pacer, now, (void **)packets, max);

    for (uint32_t i = 0; i < n; i++)
        rte_prefetch0(packets[i]);
    return n;
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
                                        .push = push,
                                        .pull = pull,
                                        .footprint_bytes = footprint_bytes};
