/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The longest packet that the path to a host carries, found by probes of chosen lengths (RFC 8899,
 * section 4.1). Only the direction to the host is searched: its answers are short.
 *
 * Our daemon refuses at once what is beyond its port's MTU, so only a path that carries less costs
 * time: the probes that stay unanswered, one for each halving of the interval at most.
 */
#ifndef SLUICE_COMMAND_PATH_SIZE_H
#define SLUICE_COMMAND_PATH_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/loop.h"
#include "sluice/ping/probe.h"

struct path_size {
    uint32_t packet_bytes; /* of IP; the longest packet that was answered. 0: not known */
    bool mtu_bound;        /* longer ones exceed the MTU of our port */
};

/* Searches, after a probe of this host was answered. Returns 0; -EINTR: a signal came, and nothing
 * is known; -ENOTCONN: our own daemon is gone. */
int path_size_find(struct loop *l, const char *host, const struct probe *answered,
                   struct path_size *out);

/* "a packet of 1444 bytes comes through, ...", and the cure, which is "" if nothing is wrong. */
void path_size_explain(const struct path_size *p, struct probe_finding *out);

#endif
