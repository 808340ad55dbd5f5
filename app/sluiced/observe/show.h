/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function that returns json_t makes a new JSON object of one thing that the daemon shows. Units
 * come last in the names. Used by show_text() on the control lcore, and by telemetry.c. Any thread
 * may call these functions.
 */
#ifndef SLUICED_SHOW_H
#define SLUICED_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "sluiced/daemon.h"

json_t *show_conn(const struct port_queue *q, uint32_t number, const struct host_conn_info *c);
/* The object has an array "workers" of objects from show_port_queue(). */
json_t *show_port(const struct daemon *d, uint32_t p);
/* The object has an object "host", with the host's counters. */
json_t *show_port_queue(const struct port_queue *q);
/* The object has an array "queues" of objects from show_port_queue(). */
json_t *show_worker(const struct daemon *d, uint32_t i);
/* capacity: that of port p. Only control may get it, from host_control_capacity(). */
json_t *show_capacity(const struct daemon *d, uint32_t p, const struct host_capacity *capacity);
/* Writes one decision as JSON text. port: the port's name with JSON's quotes (put_quoted()). */
void show_decision(FILE *f, const char *port, uint64_t ago_ns, const struct host_decision *x);
uint64_t show_uptime_ns(const struct daemon *d);

#endif
