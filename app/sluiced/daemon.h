/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything a running daemon has. main.c builds and takes it down, in this order: ports, hosts and
 * queues, sessions, workers; control.c runs it; route.c and show.c read it on the control lcore.
 *
 * Invariant: queue i's host is hosts[i] and its clients' channel is i; the queues of ports[p] stand
 * together, from first_queue[p], by worker number.
 */
#ifndef SLUICED_DAEMON_H
#define SLUICED_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluiced/config/config.h"
#include "sluiced/observe/count.h"
#include "sluiced/port/port.h"
#include "sluiced/session/session.h"
#include "sluiced/worker/port_queue.h"
#include "sluiced/worker/worker.h"

#define DAEMON_QUEUES_MAX  CONFIG_WORKERS_MAX
#define DAEMON_WORKERS_MAX CONFIG_WORKERS_MAX

struct reload;

struct daemon {
    struct config config;
    const char *config_path; /* of that; NULL socket_path: the socket is as it says */
    const char *socket_path;
    struct reload *reload; /* reload.c's; NULL: there was none */
    uint64_t hz;           /* of the TSC */
    uint64_t start_ns;     /* CLOCK_MONOTONIC */
    struct port ports[CONFIG_PORTS_MAX];
    struct exception exceptions[CONFIG_PORTS_MAX];   /* of ports[i], where it is configured */
    struct host_control *controls[CONFIG_PORTS_MAX]; /* of ports[i] */
    uint32_t first_queue[CONFIG_PORTS_MAX];
    struct count counts[CONFIG_PORTS_MAX]; /* of ports[i], for the console */
    uint32_t n_ports;
    struct port_queue queues[DAEMON_QUEUES_MAX];
    struct host *hosts[DAEMON_QUEUES_MAX];
    uint32_t n_queues;
    struct worker workers[DAEMON_WORKERS_MAX];
    uint32_t n_workers;
    struct worker *queue_worker[DAEMON_QUEUES_MAX]; /* which worker runs queues[i] */
    bool stuck[DAEMON_QUEUES_MAX]; /* nobody takes what queues[i] sends; written by links.c */
    bool main_works;               /* the main lcore is a worker: control has a thread of its own */
    struct sessions *sessions;
    uint32_t next_worker; /* where route() starts looking */
};

/* layout.c: which lcore runs which queues. 0, or negative errno with a line. */
int layout_make(struct daemon *d, char *err, size_t err_len);
/* One line for each worker and for control, and what is wrong with where they are. */
void layout_say(const struct daemon *d);
/* The CPU that lcore stands for, as the EAL has it; -1 if it has none. */
int layout_pin(uint32_t lcore);

/* route.c: for sessions_config. */
int route_find(void *daemon, const struct addr *peer);

/* show.c: for sessions_config; JSON text to free(), NULL if nobody knows `what`. */
char *show_text(void *daemon, const char *what);

static inline uint64_t daemon_cycles_ns(const struct daemon *d, uint64_t cycles)
{
    struct clock tsc = {d->hz};

    return clock_ns(&tsc, cycles);
}

#endif
