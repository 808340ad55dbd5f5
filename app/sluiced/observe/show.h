/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function that returns json_t makes a new JSON object of one thing that the daemon shows. Units
 * come last in the names. Used by show_text() on the control lcore, and by telemetry.c. [any]
 * thread unless said otherwise.
 */
#ifndef SLUICED_SHOW_H
#define SLUICED_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "sluiced/daemon.h"

json_t *show_conn(const struct port_queue *q, uint32_t number, const struct host_conn_info *c);
/* With an array "workers", of show_port_queue(). */
json_t *show_port(const struct daemon *d, uint32_t p);
/* With an object "host": the host's counters. */
json_t *show_port_queue(const struct port_queue *q);
/* With an array "queues", of show_port_queue(). */
json_t *show_worker(const struct daemon *d, uint32_t i);
/* capacity: of port p, from host_control_capacity(), which control called. */
json_t *show_capacity(const struct daemon *d, uint32_t p, const struct host_capacity *capacity);
/* Writes one decision as JSON text. port: its name as JSON text. */
void show_decision(FILE *f, const char *port, uint64_t ago_ns, const struct host_decision *x);
uint64_t show_uptime_ns(const struct daemon *d);

#endif
