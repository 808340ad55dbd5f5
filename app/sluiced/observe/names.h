/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of ports and port queues, as operators see them. Any thread may call this. */
#ifndef SLUICED_NAMES_H
#define SLUICED_NAMES_H

#include "sluiced/daemon.h"

#define PORT_QUEUE_NAME_MAX (CONFIG_NAME_MAX + 24)

/* The port's index, or -1. */
int port_by_name(const struct daemon *d, const char *name);

/* "PORT/WORKER"; returns name. */
const char *port_queue_name(const struct port_queue *q, char name[PORT_QUEUE_NAME_MAX]);

/* The port queue with the name `wanted`; NULL if there is none, or if `wanted` is NULL. */
const struct port_queue *port_queue_by_name(const struct daemon *d, const char *wanted);

#endif
