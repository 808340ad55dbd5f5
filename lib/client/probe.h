/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections whose opening packet has a chosen length. It is for `sluice ping`, which links the
 * static library; it is no part of libsluice.
 */
#ifndef SLUICE_CLIENT_PROBE_H
#define SLUICE_CLIENT_PROBE_H

#include <stdint.h>

#include "client/sluice.h"

/* As sluice_connect(), with an opening packet (FIRST) that is padded to packet_bytes of IP, however
 * often it is repeated; 0: as it is. The connection completes with -EMSGSIZE if that is more than
 * the MTU of our port. */
int client_probe(struct sluice *s, const char *host_port, uint32_t packet_bytes,
                 struct sluice_conn **conn);

#endif
