/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds a daemon from its configuration (ports, hosts and queues, a struct host_control for each
 * port, sessions), and takes it down. In between, workers and control run.
 */
#ifndef SLUICED_START_H
#define SLUICED_START_H

#include <stddef.h>

#include "common/say.h"
#include "sluiced/daemon.h"

/* Needs d->config loaded and the EAL running. EXIT_OK, or an exit code with a line in err; call
 * start_undo() in either case. */
enum say_exit start_make(struct daemon *d, char *err, size_t err_len);
/* Gives the peers of the configuration to one port's control: at start, and at each reload. */
void start_peers(const struct config *cfg, struct host_control *control);
/* Takes the daemon down. EXIT_OK, or EXIT_FAULT with a line logged if mbufs did not come back to
 * their pools. */
enum say_exit start_undo(struct daemon *d);

#endif
