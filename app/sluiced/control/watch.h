/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches control, which cannot report its own stall. Workers notice a stall
 * (host_control_stalled()), and a thread that sleeps nearly all the time reports it. Clients get no
 * answer meanwhile.
 */
#ifndef SLUICED_WATCH_H
#define SLUICED_WATCH_H

#include <sched.h>

#include "sluiced/daemon.h"

/* Starts the thread on any of cpus, since control's own may be taken by others. If the thread
 * cannot start, there is no watch, and a line says so. */
void watch_start(const struct daemon *d, const cpu_set_t *cpus);
void watch_stop(void);

#endif
