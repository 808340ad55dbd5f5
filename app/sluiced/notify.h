/* SPDX-License-Identifier: BSD-3-Clause */
/* Telling systemd (Type=notify) how we are; without systemd, or without libsystemd, nothing. */
#ifndef SLUICED_NOTIFY_H
#define SLUICED_NOTIFY_H

#include <stdint.h>

void notify_ready(void);
void notify_stopping(void);
void notify_alive(void);
/* How often notify_alive() is wanted; 0: not at all. */
uint64_t notify_interval_ns(void);

#endif
