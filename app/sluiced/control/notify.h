/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the service manager the daemon's state (sd_notify(3)), by a datagram to the socket that
 * NOTIFY_SOCKET names: a path, or @ and an abstract name. Without a manager nothing is sent. Called
 * by control's thread only.
 */
#ifndef SLUICED_NOTIFY_H
#define SLUICED_NOTIFY_H

#include <stdint.h>

/* Also the end of a reload. */
void notify_ready(void);
/* A reload begins, at this time of CLOCK_MONOTONIC. */
void notify_reloading(uint64_t now_ns);
void notify_stopping(void);
void notify_alive(void);
/* What the daemon does, for people: one line, which is cut after NOTIFY_STATUS_MAX - 1 bytes. */
#define NOTIFY_STATUS_MAX 256
void notify_status(const char *status);
/* The interval at which the manager wants notify_alive(); 0: never. */
uint64_t notify_interval_ns(void);

#endif
