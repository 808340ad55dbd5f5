/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control lcore: every control interval it measures and shares (host_control), serves client
 * sessions, watches links and workers; in between it sleeps. Ends after SIGINT or SIGTERM: peers
 * are told, clients let go, workers stopped. A second signal does not wait for them.
 */
#ifndef SLUICED_CONTROL_H
#define SLUICED_CONTROL_H

#include "common/say.h"
#include "sluiced/daemon.h"

/* From here on SIGINT and SIGTERM ask for a stop; SIGPIPE is ignored. */
void control_signals(void);
bool control_stop_asked(void);

/* Runs until asked to stop, then stops the workers. EXIT_OK or EXIT_FAULT. */
enum say_exit control_run(struct daemon *d);

#endif
