/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/sum.h"

#include <string.h>

#include "base/counter.h"

static void cable_add(struct cable_counts *sum, const struct cable_counts *c)
{
    sum->rx_packets += counter_get(&c->rx_packets);
    sum->rx_bytes += counter_get(&c->rx_bytes);
    sum->tx_packets += counter_get(&c->tx_packets);
    sum->tx_bytes += counter_get(&c->tx_bytes);
    sum->tx_dropped += counter_get(&c->tx_dropped);
    sum->drop_no_mbuf += counter_get(&c->drop_no_mbuf);
    histogram_join(&sum->late, &c->late);
    histogram_join(&sum->round, &c->round);
}

static void path_add(struct path_counts *sum, const struct path_counts *c)
{
    sum->in_packets += counter_get(&c->in_packets);
    sum->in_bytes += counter_get(&c->in_bytes);
    sum->out_packets += counter_get(&c->out_packets);
    sum->out_bytes += counter_get(&c->out_bytes);
    sum->drop_full += counter_get(&c->drop_full);
    sum->drop_no_mbuf += counter_get(&c->drop_no_mbuf);
    sum->held_packets += counter_get(&c->held_packets);
}

void sum_direction(const struct box *b, unsigned int i, struct sum *s)
{
    memset(s, 0, sizeof *s);
    for (uint16_t q = 0; q < b->layout.paths[i]; q++) {
        cable_add(&s->cable, cable_counts(b->cable[q], i));
        path_add(&s->path, path_counts(cable_path(b->cable[q], i)));
    }
    interface_counts(&b->interface[i], &s->offload);
}

static void element_add(struct path_element_counts *sum, const struct path_element_counts *c)
{
    uint64_t packets_max = RTE_MAX(sum->queued_packets_max, counter_get(&c->queued_packets_max));
    uint64_t bytes_max = RTE_MAX(sum->queued_bytes_max, counter_get(&c->queued_bytes_max));

#define X(name) sum->name += counter_get(&c->name);
    PATH_ELEMENT_COUNTERS(X)
#undef X
    sum->queued_packets_max = packets_max;
    sum->queued_bytes_max = bytes_max;
}

bool sum_element(const struct box *b, unsigned int i, uint32_t k, struct sum_element *e)
{
    struct path_element_info info;

    memset(e, 0, sizeof *e);
    for (uint16_t q = 0; q < b->layout.paths[i]; q++) {
        if (!path_element(cable_path(b->cable[q], i), k, &info))
            return false;
        if (q == 0)
            e->info = info;
        element_add(&e->counts, info.counts);
        if (info.delay != NULL)
            histogram_join(&e->delay, info.delay);
        if (info.queue != NULL)
            histogram_join(&e->queue, info.queue);
    }
    e->info.counts = &e->counts;
    e->info.delay = e->info.delay != NULL ? &e->delay : NULL;
    e->info.queue = e->info.queue != NULL ? &e->queue : NULL;
    return true;
}
