/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds a daemon from its configuration, and takes it down: ports, hosts and queues, control
 * halves, sessions. Between the two, workers and control run.
 */
#ifndef SLUICED_START_H
#define SLUICED_START_H

#include <stddef.h>

#include "common/say.h"
#include "sluiced/daemon.h"

/* d->config is loaded, the EAL runs. EXIT_OK, or an exit code with a line in err; start_undo() is
 * due in either case. */
enum say_exit start_make(struct daemon *d, char *err, size_t err_len);
/* What the configuration says of peers, for one port's control: at start, and live. */
void start_peers(const struct config *cfg, struct host_control *control);
/* EXIT_OK, or EXIT_FAULT with a line said if something was not returned. */
enum say_exit start_undo(struct daemon *d);

#endif
