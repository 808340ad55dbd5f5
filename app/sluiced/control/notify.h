/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the service manager the daemon's state (sd_notify(3)), by a datagram to the socket that
 * NOTIFY_SOCKET names. Without a manager nothing is sent. Called by control's thread only.
 */
#ifndef SLUICED_NOTIFY_H
#define SLUICED_NOTIFY_H

#include <stdint.h>

void notify_ready(void);
void notify_stopping(void);
void notify_alive(void);
/* The interval at which the manager wants notify_alive(); 0: never. */
uint64_t notify_interval_ns(void);

#endif
