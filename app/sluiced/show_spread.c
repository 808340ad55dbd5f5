/* SPDX-License-Identifier: BSD-3-Clause */
/* How delays, rates and latencies of connections are spread: quantiles, and histograms as arrays of
 * counts by powers of two (base/spread.h). */
#include "sluiced/show_spread.h"

#include "wire/addr.h"

static void put(json_t *o, const char *what, const char *quantile, const char *unit, uint64_t value)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s%s", what, quantile, unit);
    json_object_set_new(o, name, json_integer((json_int_t)value));
}

static void put_spread(json_t *o, const char *what, const char *unit, const struct spread *s)
{
    json_t *buckets = json_array();

    put(o, what, "count", "", spread_count(s));
    put(o, what, "sum", unit, s->sum);
    put(o, what, "p50", unit, spread_quantile(s, 50, 100));
    put(o, what, "p99", unit, spread_quantile(s, 99, 100));
    for (uint32_t k = 0; k < SPREAD_BUCKETS; k++)
        json_array_append_new(buckets, json_integer((json_int_t)s->n[k]));
    json_object_set_new(o, what, buckets);
}

json_t *show_spread(const struct lane *l, uint32_t number)
{
    struct host_conn_info info;
    struct host_conn_spread s;
    char peer[ADDR_TEXT_MAX];
    json_t *o;

    if (!host_conn_info(l->host, number, &info) || !host_conn_spread(l->host, number, &s))
        return NULL;
    o = json_object();
    json_object_set_new(o, "port", json_string(l->port->cfg->name));
    json_object_set_new(o, "worker", json_integer(l->queue));
    json_object_set_new(o, "conn", json_integer(number));
    json_object_set_new(o, "peer", json_string(addr_format(&info.peer, peer)));
    put_spread(o, "increment", "_ns", &s.increment_ns);
    put_spread(o, "momentary", "_Bps", &s.momentary_Bps);
    put_spread(o, "latency", "_ns", &s.latency_ns);
    return o;
}

json_t *show_spreads(const struct daemon *d)
{
    json_t *list = json_array(), *o;

    for (uint32_t i = 0; i < d->n_lanes; i++)
        for (uint32_t k = 0; k < host_conn_limit(d->hosts[i]); k++) {
            o = show_spread(&d->lanes[i], k);
            if (o != NULL)
                json_array_append_new(list, o);
        }
    return list;
}
