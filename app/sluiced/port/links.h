/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the ports' links on the control lcore. It logs when a link goes up or down, restarts a
 * memif client whose server is gone, and warns of queues whose frames no peer takes. When a link
 * comes up, it claims the port's addresses (host/claim.h); it warns if another station has one of
 * them.
 */
#ifndef SLUICED_LINKS_H
#define SLUICED_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluiced/daemon.h"

struct links {
    struct daemon *d;
    uint64_t watch_due; /* TSC */
    uint64_t restart_due[CONFIG_PORTS_MAX];
    uint32_t tries[CONFIG_PORTS_MAX]; /* starts in a row after which the link did not come up */
    bool up[CONFIG_PORTS_MAX];
    bool taken[CONFIG_PORTS_MAX];            /* taken from its workers, for a restart */
    bool unused[CONFIG_PORTS_MAX][2];        /* address[i] is not used: another station has it */
    uint64_t conflicts[CONFIG_PORTS_MAX][2]; /* counted for address[i] at the last look */
    uint64_t conflict_due[CONFIG_PORTS_MAX]; /* no further warning before this */
    uint64_t sent[DAEMON_QUEUES_MAX], dropped[DAEMON_QUEUES_MAX]; /* counters at the last look */
};

void links_init(struct links *k, struct daemon *d, uint64_t now);
/* Called every control interval. */
void links_watch(struct links *k, uint64_t now);

#endif
