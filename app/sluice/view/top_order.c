/* SPDX-License-Identifier: BSD-3-Clause */
/* Which flows `sluice top` shows, in which order, and as rows. See top_data.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/view/top_data.h"

struct sorting {
    enum top_order order;
    bool backward;
};

const char *top_order_name(enum top_order order)
{
    static const char *const names[] = {
        [TOP_RATE] = "rate",   [TOP_PEER] = "peer",   [TOP_CONN] = "conn",
        [TOP_GRANT] = "grant", [TOP_BYTES] = "bytes", [TOP_LOST] = "lost",
    };

    return order < TOP_ORDERS ? names[order] : NULL;
}

static int more_first(double a, double b)
{
    return (a < b) - (a > b);
}

/* Decides between flows that are equal otherwise, so that their lines keep their places. */
static int by_number(const struct top_flow *a, const struct top_flow *b)
{
    int port = strcmp(a->port, b->port);

    if (port != 0)
        return port;
    if (a->worker != b->worker)
        return a->worker < b->worker ? -1 : 1;
    if (a->conn != b->conn)
        return a->conn < b->conn ? -1 : 1;
    return (int)a->outward - (int)b->outward;
}

static int compare(const void *one, const void *other, void *sorting)
{
    const struct top_flow *a = one, *b = other;
    const struct sorting *s = sorting;
    int n = 0;

    switch (s->order) {
    case TOP_RATE:
        n = more_first(a->rate_Bps, b->rate_Bps);
        break;
    case TOP_PEER:
        n = strcmp(a->peer, b->peer);
        break;
    case TOP_GRANT:
        n = more_first((double)a->grant_Bps, (double)b->grant_Bps);
        break;
    case TOP_BYTES:
        n = more_first((double)a->bytes, (double)b->bytes);
        break;
    case TOP_LOST:
        n = more_first((double)a->lost, (double)b->lost);
        break;
    case TOP_CONN:
    case TOP_ORDERS:
        break;
    }
    n = n != 0 ? n : by_number(a, b);
    return s->backward ? -n : n;
}

void top_sort(struct top *t, enum top_order order, bool backward)
{
    struct sorting s = {order, backward};

    if (t->n_flows > 0)
        qsort_r(t->flows, t->n_flows, sizeof *t->flows, compare, &s);
}

bool top_fits(const struct top_flow *f, const char *filter)
{
    char service[24];
    const char *const texts[] = {f->port, f->peer, f->state,
                                 f->why,  service, f->outward ? "out" : "in"};
    size_t i;

    snprintf(service, sizeof service, "%llu", (unsigned long long)f->service);
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcasestr(texts[i], filter) != NULL)
            return true;
    return false;
}

/* ---- rows -------------------------------------------------------------------------------- */

static void put_count(json_t *o, const char *key, double n)
{
    json_object_set_new(o, key, json_integer((json_int_t)(n + 0.5)));
}

static void put_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_string(text));
}

json_t *top_ports_json(const struct top *t)
{
    json_t *rows = json_array();
    size_t i;

    for (i = 0; i < t->n_ports; i++) {
        const struct top_port *p = &t->ports[i];
        json_t *o = json_object();

        put_text(o, "port", p->name);
        put_text(o, "link", p->up ? "up" : "down");
        put_count(o, "capacity_Bps", (double)p->capacity_Bps);
        put_text(o, "measured_why", p->why);
        put_count(o, "granted_Bps", (double)p->granted_Bps);
        put_count(o, "open_conns", (double)p->conns);
        put_count(o, "rx_Bps", p->rx_Bps);
        put_count(o, "tx_Bps", p->tx_Bps);
        put_count(o, "rx_missed", (double)p->missed);
        json_array_append_new(rows, o);
    }
    return rows;
}

json_t *top_flows_json(const struct top *t, const char *filter)
{
    json_t *rows = json_array();
    size_t i;

    for (i = 0; i < t->n_flows; i++) {
        const struct top_flow *f = &t->flows[i];
        json_t *o;

        if (!top_fits(f, filter))
            continue;
        o = json_object();
        put_text(o, "port", f->port);
        put_count(o, "worker", (double)f->worker);
        put_count(o, "conn", (double)f->conn);
        put_text(o, "direction", f->outward ? "out" : "in");
        put_text(o, "state", f->state);
        put_text(o, "peer", f->peer);
        put_count(o, "service", (double)f->service);
        put_count(o, "grant_Bps", (double)f->grant_Bps);
        put_text(o, "why", f->why);
        put_count(o, "rate_Bps", f->rate_Bps);
        put_count(o, "bytes", (double)f->bytes);
        put_count(o, "lost", (double)f->lost);
        put_count(o, "rtt_ns", (double)f->rtt_ns);
        json_array_append_new(rows, o);
    }
    return rows;
}
