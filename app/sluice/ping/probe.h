/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks whether a host has a daemon: opens a connection to a service on which nobody listens. The
 * refusal is the daemon's answer. If none comes, the status, the counters of dropped frames and
 * what is known of the peer's key tell what stands in the way.
 */
#ifndef SLUICE_COMMAND_PROBE_H
#define SLUICE_COMMAND_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/loop.h"

#define PROBE_SERVICE 65535 /* nobody should listen there */
#define PROBE_WAIT_NS (5 * CLOCK_NS_PER_S)

struct probe {
    int status; /* 0: a daemon has answered; -EHOSTUNREACH, -ETIMEDOUT, ... */
    bool sent;  /* false: our own daemon refused to try; why: its words */
    uint64_t round_trip_ns;
    char why[256];
    bool neighbor;    /* the host itself has answered ARP or neighbour discovery */
    char secured[96]; /* what is known of the association with the host; "": nothing */
    char drops[160];  /* counters of dropped frames that rose meanwhile; "": none */
};

/* Asks once. host: HOST or HOST:SERVICE. Waits at most wait_ns, less if a signal comes (-EINTR).
 * Returns 0, or -ENOTCONN: our own daemon is gone. */
int probe_run(struct loop *l, const char *host, uint64_t wait_ns, struct probe *out);

/* Asks once, by an opening packet that is padded to packet_bytes of IP; 0: as it is. Returns 0 if a
 * daemon has answered, -EMSGSIZE: our port does not send such packets, -ETIMEDOUT, -EINTR,
 * -ENOTCONN, or what else our daemon says. */
int probe_try(struct loop *l, const char *host, uint32_t packet_bytes, uint64_t wait_ns);

/* What a probe without an answer means, and the cure. */
struct probe_finding {
    char text[512], cure[512];
};
void probe_explain(const struct probe *p, struct probe_finding *out);

#endif
