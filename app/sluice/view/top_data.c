/* SPDX-License-Identifier: BSD-3-Clause */
/* See top_data.h. */
#include "sluice/view/top_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"

static uint64_t number(const json_t *o, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(o, key));

    return n > 0 ? (uint64_t)n : 0;
}

static void text(const json_t *o, const char *key, char out[TOP_NAME])
{
    const char *value = json_string_value(json_object_get(o, key));

    text_safe(out, TOP_NAME, value != NULL ? value : "");
}

/* Adds an element, all zero, to an array. Returns the array, which may have moved; NULL: no memory.
 */
static void *more(void *array, size_t *n, size_t *room, size_t size)
{
    if (*n == *room) {
        size_t wanted = *room == 0 ? 16 : 2 * *room;
        void *grown = realloc(array, wanted * size);

        if (grown == NULL)
            return NULL;
        array = grown;
        *room = wanted;
    }
    memset((char *)array + *n * size, 0, size);
    ++*n;
    return array;
}

/* ---- ports ------------------------------------------------------------------------------- */

static struct top_port *port_find(struct top *t, const char *name)
{
    struct top_port *grown;
    size_t i;

    for (i = 0; i < t->n_ports; i++)
        if (strcmp(t->ports[i].name, name) == 0)
            return &t->ports[i];
    grown = more(t->ports, &t->n_ports, &t->ports_room, sizeof *grown);
    if (grown == NULL)
        return NULL;
    t->ports = grown;
    snprintf(grown[t->n_ports - 1].name, TOP_NAME, "%s", name);
    return &grown[t->n_ports - 1];
}

/* The increase of a counter; 0 if it fell: a new device counts from 0. */
static double moved(uint64_t before, uint64_t now)
{
    return now > before ? (double)(now - before) : 0;
}

static bool take_port(struct top *t, const json_t *o, uint64_t now_ns)
{
    uint64_t rx = number(o, "rx_bytes"), tx = number(o, "tx_bytes");
    struct top_port *p;
    char name[TOP_NAME], link[TOP_NAME];

    text(o, "name", name);
    p = port_find(t, name);
    if (p == NULL)
        return false;
    text(o, "link", link);
    p->up = strcmp(link, "up") == 0;
    p->missed = number(o, "rx_missed");
    if (p->looked_ns != 0 && now_ns > p->looked_ns) {
        double s = (double)(now_ns - p->looked_ns) / 1e9;

        p->rx_Bps = moved(p->rx_bytes, rx) / s;
        p->tx_Bps = moved(p->tx_bytes, tx) / s;
        sparkline_add(&p->spark, p->looked_ns, now_ns, p->rx_Bps * s);
    }
    p->rx_bytes = rx;
    p->tx_bytes = tx;
    p->looked_ns = now_ns;
    p->seen = true;
    return true;
}

static bool take_capacity(struct top *t, const json_t *o)
{
    char name[TOP_NAME];
    struct top_port *p;

    text(o, "port", name);
    p = port_find(t, name);
    if (p == NULL)
        return false;
    text(o, "measured_why", p->why);
    p->capacity_Bps = number(o, "shared_Bps");
    p->granted_Bps = number(o, "granted_Bps");
    p->conns = number(o, "open_conns");
    return true;
}

/* ---- flows ------------------------------------------------------------------------------- */

/* True if both are the same flow; the connection's number is not enough, since numbers are used
 * again. */
static bool flow_is(const struct top_flow *f, const struct top_flow *like)
{
    return f->conn == like->conn && f->worker == like->worker && f->outward == like->outward &&
           f->owner == like->owner && strcmp(f->port, like->port) == 0 &&
           strcmp(f->peer, like->peer) == 0 && f->bytes <= like->bytes;
}

static bool take_flow(struct top *t, const struct top_flow *like, uint64_t now_ns)
{
    struct top_flow *f = NULL, *grown;
    size_t i;

    for (i = 0; i < t->n_flows && f == NULL; i++)
        if (!t->flows[i].seen && flow_is(&t->flows[i], like))
            f = &t->flows[i];
    if (f == NULL) {
        grown = more(t->flows, &t->n_flows, &t->flows_room, sizeof *grown);
        if (grown == NULL)
            return false;
        t->flows = grown;
        f = &grown[t->n_flows - 1];
    }
    struct top_flow now = *like;

    now.spark = f->spark;
    if (f->looked_ns != 0 && now_ns > f->looked_ns) {
        now.rate_Bps = moved(f->bytes, like->bytes) / ((double)(now_ns - f->looked_ns) / 1e9);
        sparkline_add(&now.spark, f->looked_ns, now_ns, moved(f->bytes, like->bytes));
    }
    now.looked_ns = now_ns;
    now.seen = true;
    *f = now;
    return true;
}

static bool take_conn(struct top *t, const json_t *o, uint64_t now_ns)
{
    uint64_t rx = number(o, "rx_bytes"), tx = number(o, "tx_bytes");
    struct top_flow f = {.worker = number(o, "worker"),
                         .conn = number(o, "conn"),
                         .owner = number(o, "owner"),
                         .service = number(o, "service"),
                         .rtt_ns = number(o, "rtt_ns")};
    bool good = true;

    text(o, "port", f.port);
    text(o, "peer", f.peer);
    text(o, "state", f.state);
    if (strcmp(f.state, "waiting") == 0) {
        t->waiting++;
        return true;
    }
    t->open += strcmp(f.state, "open") == 0;
    if (rx > 0 || tx == 0) {
        text(o, "rx_why", f.why);
        f.grant_Bps = number(o, "rx_rate_Bps");
        f.bytes = rx;
        f.lost = number(o, "rx_lost");
        good = take_flow(t, &f, now_ns);
    }
    if (tx > 0) {
        snprintf(f.why, sizeof f.why, "peer"); /* only the peer's daemon knows why */
        f.outward = true;
        f.grant_Bps = number(o, "tx_rate_Bps");
        f.bytes = tx;
        f.lost = number(o, "tx_repeats");
        good = good && take_flow(t, &f, now_ns);
    }
    return good;
}

/* ---- a look ------------------------------------------------------------------------------ */

/* The array `what` of the answer; the caller calls json_decref() on *top. */
static const json_t *rows_of(const char *said, const char *what, json_t **top)
{
    *top = json_loads(said, 0, NULL);
    return json_object_get(*top, what);
}

/* Removes flows and ports that the daemon's newest answers do not contain. */
static void forget(struct top *t)
{
    size_t i, kept = 0;

    for (i = 0; i < t->n_flows; i++)
        if (t->flows[i].seen)
            t->flows[kept++] = t->flows[i];
    t->n_flows = kept;
    for (i = kept = 0; i < t->n_ports; i++)
        if (t->ports[i].seen)
            t->ports[kept++] = t->ports[i];
    t->n_ports = kept;
}

bool top_take(struct top *t, const char *ports, const char *capacity, const char *conns,
              uint64_t now_ns)
{
    json_t *tops[3], *o;
    const json_t *p = rows_of(ports, "ports", &tops[0]);
    const json_t *k = rows_of(capacity, "capacity", &tops[1]);
    const json_t *c = rows_of(conns, "conns", &tops[2]);
    bool good = json_is_array(p) && json_is_array(k) && json_is_array(c);
    size_t i;

    for (i = 0; i < t->n_ports; i++)
        t->ports[i].seen = false;
    for (i = 0; i < t->n_flows; i++)
        t->flows[i].seen = false;
    t->open = t->waiting = 0;
    t->uptime_ns = number(tops[2], "uptime_ns");
    json_array_foreach(p, i, o) good = good && take_port(t, o, now_ns);
    json_array_foreach(k, i, o) good = good && take_capacity(t, o);
    json_array_foreach(c, i, o) good = good && take_conn(t, o, now_ns);
    forget(t);
    t->looked_ns = now_ns;
    for (i = 0; i < 3; i++)
        json_decref(tops[i]);
    return good;
}

void top_free(struct top *t)
{
    free(t->ports);
    free(t->flows);
    memset(t, 0, sizeof *t);
}
