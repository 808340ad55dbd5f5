/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling the service manager how we are (sd_notify(3)): a datagram to the socket that
 * NOTIFY_SOCKET names. Without a manager, nothing. Control's thread only.
 */
#ifndef SLUICED_NOTIFY_H
#define SLUICED_NOTIFY_H

#include <stdint.h>

void notify_ready(void);
void notify_stopping(void);
void notify_alive(void);
/* How often notify_alive() is wanted; 0: not at all. */
uint64_t notify_interval_ns(void);

#endif
