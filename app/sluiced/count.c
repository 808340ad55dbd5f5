/* SPDX-License-Identifier: BSD-3-Clause */
/* See count.h. */
#include "sluiced/count.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluiced/daemon.h"

static uint64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A driver that was started anew may count from 0 again. */
static json_t *since(uint64_t now, uint64_t then)
{
    return json_integer((json_int_t)(now >= then ? now - then : now));
}

/* All of a port, to free(); *n: how many. */
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
    *c = (struct count){.xstats = values, .cleared_ns = monotonic_ns()};
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

json_t *count_stats_json(const struct daemon *d)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < d->n_ports; i++) {
        const struct count *c = &d->counts[i];
        const struct rte_eth_stats *then = &c->stats;
        struct rte_eth_stats s;
        uint64_t from = c->cleared_ns != 0 ? c->cleared_ns : d->start_ns;

        memset(&s, 0, sizeof s);
        if (rte_eth_stats_get(d->ports[i].id, &s) != 0)
            memset(&s, 0, sizeof s);
        json_array_append_new(
            list,
            json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "port",
                      d->ports[i].cfg->name, "port_number", (int)i, "rx_packets",
                      since(s.ipackets, then->ipackets), "rx_bytes", since(s.ibytes, then->ibytes),
                      "rx_missed", since(s.imissed, then->imissed), "rx_errors",
                      since(s.ierrors, then->ierrors), "rx_nombuf",
                      since(s.rx_nombuf, then->rx_nombuf), "tx_packets",
                      since(s.opackets, then->opackets), "tx_bytes", since(s.obytes, then->obytes),
                      "tx_errors", since(s.oerrors, then->oerrors), "since_ns",
                      (json_int_t)(monotonic_ns() - from)));
    }
    return list;
}

/* One port's. */
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

        if (k >= (uint64_t)names)
            continue;
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:s, s:o}", "port", d->ports[port].cfg->name, "port_number",
                            (int)port, "name", name[k].name, "value",
                            since(x[i].value, k < (uint64_t)c->n_xstats ? c->xstats[k] : 0)));
    }
    free(name);
    free(x);
}

json_t *count_xstats_json(const struct daemon *d)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < d->n_ports; i++)
        xstats_add(list, d, i);
    return list;
}
