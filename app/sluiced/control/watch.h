/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches control, which cannot say itself that it stands still: workers notice
 * (host_control_stalled()), and a thread that sleeps nearly all the time says so. Clients get no
 * answer meanwhile.
 */
#ifndef SLUICED_WATCH_H
#define SLUICED_WATCH_H

#include <sched.h>

#include "sluiced/daemon.h"

/* On any of these CPUs: that of control may be taken. Without a thread there is no watch, and a
 * line says so. */
void watch_start(const struct daemon *d, const cpu_set_t *cpus);
void watch_stop(void);

#endif
