/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says events of connections (host/trace.h) in the log, while its level is debug. Owned by the
 * control lcore, which may be later than the events: a ring keeps the latest TRACE_EVENTS.
 */
#ifndef SLUICED_EVENTS_H
#define SLUICED_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluiced/daemon.h"

/* All zero at first. */
struct events {
    bool on;
    /* Number of the next event of the ring of hosts[i], and of the one of controls[i]. */
    uint64_t host_next[DAEMON_QUEUES_MAX], control_next[CONFIG_PORTS_MAX];
};

/* Says what happened since the last call, or nothing if the level is not debug. */
void events_say(struct events *e, const struct daemon *d);

#endif
