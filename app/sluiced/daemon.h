/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All the state of a running daemon. start.c builds it (ports with their hosts and queues, workers,
 * sessions) and takes it down; main.c launches the workers; control.c runs it; route.c and show.c
 * use it on the control lcore.
 *
 * Invariant: queue i has host hosts[i], and its clients use channel i. The queues of ports[p] are
 * consecutive, from first_queue[p], in the order of their workers.
 */
#ifndef SLUICED_DAEMON_H
#define SLUICED_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluiced/config/config.h"
#include "sluiced/control/key_log.h"
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
    /* config_path: the file that config was read from; socket_path: overrides the socket that the
     * file names; NULL: no override */
    const char *config_path;
    const char *socket_path;
    bool log_format_set;   /* --log-format overrides the file's log_format */
    struct reload *reload; /* state of the last reload, owned by reload.c; NULL: none yet */
    uint64_t hz;           /* of the TSC */
    uint64_t start_ns;     /* CLOCK_MONOTONIC */
    struct port ports[CONFIG_PORTS_MAX];
    struct exception exceptions[CONFIG_PORTS_MAX];   /* exception port of ports[i], if any */
    struct host_control *controls[CONFIG_PORTS_MAX]; /* of ports[i] */
    bool security_due[CONFIG_PORTS_MAX]; /* ports[i] has yet to get the peers: security.c */
    struct key_log key_log;
    struct capture_clock capture_clock;
    uint32_t n_captures; /* captures of all ports that have begun and are not freed yet */
    uint32_t first_queue[CONFIG_PORTS_MAX];
    struct count counts[CONFIG_PORTS_MAX]; /* of ports[i], for the console */
    uint32_t n_ports;
    struct port_queue queues[DAEMON_QUEUES_MAX];
    struct host *hosts[DAEMON_QUEUES_MAX];
    uint32_t n_queues;
    struct worker workers[DAEMON_WORKERS_MAX];
    uint32_t n_workers;
    struct worker *queue_worker[DAEMON_QUEUES_MAX]; /* the worker that runs queues[i] */
    bool stuck[DAEMON_QUEUES_MAX]; /* no peer takes frames of queues[i]; written by links.c */
    int control_event; /* eventfd: messages about associations wait for control; 0: none */
    bool main_works;   /* the main lcore is a worker; control has its own thread */
    struct sessions *sessions;
    uint32_t next_worker; /* the worker at which route_find() starts looking */
};

/* layout.c: how many queues a port gets that asks for no number: the lcores that no port names and
 * that control does not have, divided among such ports; at least 1. */
uint16_t layout_share(const struct config *c);
/* layout.c: assigns the queues to lcores. 0, or negative errno with a line in err. */
int layout_make(struct daemon *d, char *err, size_t err_len);
/* Logs one line for each worker and for control, and warns of bad placements. */
void layout_say(const struct daemon *d);
/* The first CPU on which `lcore` may run; -1 if the EAL does not have that lcore. */
int layout_pin(uint32_t lcore);

/* route.c: the callback `route` of struct sessions_config. */
int route_find(void *daemon, const struct addr *peer);

/* show.c: the callback `show` of struct sessions_config. Returns JSON text to free(), or NULL if
 * `what` is unknown. */
char *show_text(void *daemon, const char *what, const struct access_user *viewer);

static inline uint64_t daemon_cycles_ns(const struct daemon *d, uint64_t cycles)
{
    struct clock tsc = {d->hz};

    return clock_ns(&tsc, cycles);
}

#endif
