/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the ports' links on the control lcore: says when they go up and down, starts a memif
 * client anew whose server is gone, and tells of queues whose frames nobody takes. When a link
 * comes up, the port's addresses are claimed (host/claim.h); of another station that has one it
 * tells.
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
    uint32_t tries[CONFIG_PORTS_MAX]; /* that started, but did not come up */
    bool up[CONFIG_PORTS_MAX];
    bool taken[CONFIG_PORTS_MAX];            /* from its workers, to be restarted */
    bool unused[CONFIG_PORTS_MAX][2];        /* address[i], for another station has it */
    uint64_t conflicts[CONFIG_PORTS_MAX][2]; /* with address[i], at the last look */
    uint64_t conflict_due[CONFIG_PORTS_MAX]; /* not said again before this */
    uint64_t sent[DAEMON_QUEUES_MAX], dropped[DAEMON_QUEUES_MAX]; /* frames, at the last look */
};

void links_init(struct links *k, struct daemon *d, uint64_t now);
/* Every control interval. */
void links_watch(struct links *k, uint64_t now);

#endif
