/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `sluice top` knows about a daemon: its ports, and a flow for each direction in which a
 * connection has moved data (a connection that has moved none has an inward flow). Rates are those
 * since the previous look.
 *
 * Rates in bytes/s: of flows, user bytes (payload); of ports, bytes of frames.
 */
#ifndef SLUICE_COMMAND_TOP_DATA_H
#define SLUICE_COMMAND_TOP_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "sluice/view/sparkline.h"

#define TOP_NAME 64

struct top_port {
    char name[TOP_NAME], why[TOP_NAME]; /* why: how the capacity is known */
    bool up, seen;
    uint64_t capacity_Bps, granted_Bps; /* capacity: what is shared out now; 0: no limit */
    uint64_t conns, missed;
    uint64_t rx_bytes, tx_bytes; /* totals */
    uint64_t looked_ns;          /* when rx_bytes and tx_bytes were read; 0: never */
    double rx_Bps, tx_Bps;
    struct sparkline spark; /* of rx_Bps */
};

struct top_flow {
    char port[TOP_NAME], peer[TOP_NAME], state[TOP_NAME], why[TOP_NAME];
    uint64_t worker, conn, owner, service;
    bool outward, seen;
    uint64_t grant_Bps, bytes, lost, rtt_ns; /* lost: units lost; if outward, units sent again */
    uint64_t looked_ns;
    double rate_Bps;
    struct sparkline spark;
};

struct top {
    uint64_t looked_ns; /* CLOCK_MONOTONIC of the last look; 0: none yet */
    uint64_t uptime_ns; /* of the daemon */
    uint64_t open, waiting;
    size_t n_ports, n_flows, ports_room, flows_room;
    struct top_port *ports;
    struct top_flow *flows;
};

/* Takes the daemon's answers about "ports", "capacity" and "conns", as of now_ns. False: they make
 * no sense, or there is no memory. */
bool top_take(struct top *t, const char *ports, const char *capacity, const char *conns,
              uint64_t now_ns);
void top_free(struct top *t);

enum top_order {
    TOP_RATE, /* largest first, as in all orders but the next two */
    TOP_PEER,
    TOP_CONN,
    TOP_GRANT,
    TOP_BYTES,
    TOP_LOST,
    TOP_ORDERS,
};
/* Name of an order, NULL: no such order. */
const char *top_order_name(enum top_order order);

/* Sorts the flows; backward: in reverse order. */
void top_sort(struct top *t, enum top_order order, bool backward);
/* True if filter is part of the flow's port, peer, state, reason, service or direction ("in",
 * "out"), ignoring case; "" fits all. */
bool top_fits(const struct top_flow *f, const char *filter);

/* Rows for table_print() and --json. */
json_t *top_ports_json(const struct top *t);
json_t *top_flows_json(const struct top *t, const char *filter);

#endif
