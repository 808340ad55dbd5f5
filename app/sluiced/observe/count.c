/* SPDX-License-Identifier: BSD-3-Clause */
/* See count.h. */
#include "sluiced/observe/count.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "sluiced/daemon.h"
#include "sluiced/observe/put.h"

/* A driver that is restarted may count from 0 again. */
static uint64_t since(uint64_t now, uint64_t then)
{
    return now >= then ? now - then : now;
}

void count_stats_put(json_t *o, const struct rte_eth_stats *now, const struct rte_eth_stats *then)
{
    put_count(o, "rx_packets", since(now->ipackets, then->ipackets));
    put_count(o, "rx_bytes", since(now->ibytes, then->ibytes));
    put_count(o, "rx_missed", since(now->imissed, then->imissed));
    put_count(o, "rx_errors", since(now->ierrors, then->ierrors));
    put_count(o, "rx_nombuf", since(now->rx_nombuf, then->rx_nombuf));
    put_count(o, "tx_packets", since(now->opackets, then->opackets));
    put_count(o, "tx_bytes", since(now->obytes, then->obytes));
    put_count(o, "tx_errors", since(now->oerrors, then->oerrors));
}

/* All xstats of a port, to free(); *n: how many. */
static struct rte_eth_xstat *xstats_read(uint16_t id, int *n)
{
    int room = rte_eth_xstats_get(id, NULL, 0);
    struct rte_eth_xstat *x = room > 0 ? calloc((size_t)room, sizeof *x) : NULL;

    *n = x != NULL ? rte_eth_xstats_get(id, x, (unsigned)room) : 0;
    if (*n >= 0 && *n <= room)
        return x;
    *n = 0;
    free(x);
    return NULL;
}

void count_clear(struct daemon *d, uint32_t port)
{
    struct count *c = &d->counts[port];
    int n;
    struct rte_eth_xstat *x = xstats_read(d->ports[port].id, &n);
    uint64_t *values = n > 0 ? calloc((size_t)n, sizeof *values) : NULL;

    free(c->xstats);
    *c = (struct count){.xstats = values, .cleared_ns = clock_monotonic_ns()};
    for (int i = 0; values != NULL && i < n; i++)
        if (x[i].id < (uint64_t)n)
            values[x[i].id] = x[i].value;
    c->n_xstats = values != NULL ? n : 0;
    free(x);
    if (rte_eth_stats_get(d->ports[port].id, &c->stats) != 0)
        memset(&c->stats, 0, sizeof c->stats);
}

void count_free(struct daemon *d)
{
    for (uint32_t i = 0; i < d->n_ports; i++) {
        free(d->counts[i].xstats);
        d->counts[i].xstats = NULL;
    }
}

json_t *count_stats_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < d->n_ports; i++) {
        const struct count *c = &d->counts[i];
        uint64_t from = c->cleared_ns != 0 ? c->cleared_ns : d->start_ns;
        json_t *o = json_object();
        struct rte_eth_stats s;

        memset(&s, 0, sizeof s);
        if (rte_eth_stats_get(d->ports[i].id, &s) != 0)
            memset(&s, 0, sizeof s);
        put_text(o, "port", d->ports[i].cfg->name);
        put_count(o, "port_number", i);
        count_stats_put(o, &s, &c->stats);
        put_count(o, "since_ns", clock_monotonic_ns() - from);
        json_array_append_new(list, o);
    }
    return list;
}

/* Adds one port's xstats to the list. */
static void xstats_add(json_t *list, const struct daemon *d, uint32_t port)
{
    const struct count *c = &d->counts[port];
    uint16_t id = d->ports[port].id;
    int n, names = rte_eth_xstats_get_names(id, NULL, 0);
    struct rte_eth_xstat *x = xstats_read(id, &n);
    struct rte_eth_xstat_name *name = names > 0 ? calloc((size_t)names, sizeof *name) : NULL;

    if (name != NULL && rte_eth_xstats_get_names(id, name, (unsigned)names) != names)
        names = 0;
    for (int i = 0; name != NULL && i < n; i++) {
        uint64_t k = x[i].id;
        json_t *o;

        if (k >= (uint64_t)names)
            continue;
        o = json_object();
        put_text(o, "port", d->ports[port].cfg->name);
        put_count(o, "port_number", port);
        put_text(o, "name", name[k].name);
        put_count(o, "value", since(x[i].value, k < (uint64_t)c->n_xstats ? c->xstats[k] : 0));
        json_array_append_new(list, o);
    }
    free(name);
    free(x);
}

json_t *count_xstats_json(const struct daemon *d, const struct access_user *viewer)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < d->n_ports; i++)
        xstats_add(list, d, i);
    return list;
}
