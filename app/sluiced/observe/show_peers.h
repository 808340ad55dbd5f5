/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of the peers that have a key, and of handshakes. Public keys only. */
#ifndef SLUICED_SHOW_PEERS_H
#define SLUICED_SHOW_PEERS_H

#include <jansson.h>

#include "sluiced/daemon.h"

/* A list with each peer that has a key, for each port that is secured: those that the viewer may
 * connect to. For the control lcore. */
json_t *show_peers(const struct daemon *d, const struct access_user *viewer);
/* What handshakes of this port came to, as an object of counts; NULL: the port is not secured. Any
 * thread may call this. */
json_t *show_handshakes(const struct daemon *d, uint32_t port);

#endif
