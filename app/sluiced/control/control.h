/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control lcore. Every control interval it measures traffic and shares capacity
 * (host_control()), serves client sessions, and watches links and workers. In between it sleeps. It
 * ends after SIGINT or SIGTERM: peers are notified, clients are let go, workers are stopped. After
 * a second signal it does not wait for peers and clients.
 */
#ifndef SLUICED_CONTROL_H
#define SLUICED_CONTROL_H

#include "common/say.h"
#include "sluiced/daemon.h"

/* From here on SIGINT and SIGTERM ask for a stop, SIGHUP for a reload; SIGPIPE is ignored. */
void control_signals(void);
bool control_stop_asked(void);

/* Runs until asked to stop, then stops the workers. EXIT_OK or EXIT_FAULT. */
enum say_exit control_run(struct daemon *d);

#endif
