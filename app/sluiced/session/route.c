/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the port queue that leads to an address. The port is the one whose network contains the
 * address, with the longest prefix; if there is none, the first port with a gateway. Of the port's
 * queues, the one with the fewest connections is chosen.
 */
#include <errno.h>

#include "sluiced/daemon.h"

static int family_of(const struct addr *a)
{
    return addr_is_v4(a) ? 0 : 1;
}

static bool is_ours(const struct daemon *d, const struct addr *peer)
{
    uint32_t i;

    for (i = 0; i < d->n_ports; i++) {
        if (addr_equal(&d->config.ports[i].address[family_of(peer)].addr, peer))
            return true;
    }
    return false;
}

static int port_on_link(const struct daemon *d, const struct addr *peer)
{
    int f = family_of(peer), best = -1;
    uint32_t i, best_len = 0;

    for (i = 0; i < d->n_ports; i++) {
        const struct config_prefix *a = &d->config.ports[i].address[f];

        if (addr_is_unset(&a->addr) || !addr_same_prefix(&a->addr, peer, a->len))
            continue;
        if (best < 0 || a->len > best_len) {
            best = (int)i;
            best_len = a->len;
        }
    }
    return best;
}

static int port_with_gateway(const struct daemon *d, const struct addr *peer)
{
    uint32_t i;

    for (i = 0; i < d->n_ports; i++) {
        if (!addr_is_unset(&d->config.ports[i].gateway[family_of(peer)]))
            return (int)i;
    }
    return -1;
}

/* Connections in use, 0 .. limit; limit + 1 if nobody takes the frames that the queue sends. */
static uint32_t port_queue_load(const struct daemon *d, const struct port_queue *q)
{
    return d->stuck[q->number] ? host_conn_limit(q->host) + 1 : host_conn_count(q->host);
}

int route_find(void *daemon, const struct addr *peer)
{
    struct daemon *d = daemon;
    uint32_t w, workers, best = 0, best_load = UINT32_MAX;
    int p;

    if (addr_is_unset(peer) || addr_is_multicast(peer) || is_ours(d, peer))
        return -EINVAL;
    p = port_on_link(d, peer);
    if (p < 0)
        p = port_with_gateway(d, peer);
    if (p < 0)
        return -EHOSTUNREACH;
    workers = d->ports[p].queues;
    if (workers == 1)
        return (int)d->first_queue[p];
    d->next_worker++; /* take turns among equal loads */
    for (w = 0; w < workers; w++) {
        uint32_t i = (d->next_worker + w) % workers;
        uint32_t load = port_queue_load(d, &d->queues[d->first_queue[p] + i]);

        if (load < best_load) {
            best = i;
            best_load = load;
        }
    }
    return (int)(d->first_queue[p] + best);
}
