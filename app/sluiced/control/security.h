/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of the configuration, for the control of each port: this host's own, and those of its
 * peers. Runs on the control lcore.
 *
 * Invariant: the peers of a port are those of d->config, or d->security_due[port] is set and each
 * interval tries again. A reload reports a peer as gone, so its access must go.
 */
#ifndef SLUICED_SECURITY_H
#define SLUICED_SECURITY_H

#include <stddef.h>

#include "sluiced/daemon.h"

/* Gives a port's new control the keys, if the port has security. Returns 0, or a negative errno
 * with a line in err. */
int security_start(struct daemon *d, uint32_t port, char *err, size_t err_len);
/* Passes the peers' keys on again: at a reload. What a worker has no room for is tried again. */
void security_reload(struct daemon *d);
/* In each control interval, before host_control(). */
void security_tick(struct daemon *d);

#endif
