/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration is read anew while the daemon runs. All on the control lcore.
 *
 * Invariant: a file that is wrong changes nothing. Of a good one, what can change live has, and
 * what needs a restart is as it was; both are told by name.
 */
#ifndef SLUICED_RELOAD_H
#define SLUICED_RELOAD_H

#include <stdint.h>

#include <jansson.h>

struct daemon;
struct reload;

/* Reads the daemon's file, takes over what is live, and says so. */
void reload_run(struct daemon *d);
/* The last reload, as an array with one object, or none; see show.c. */
json_t *reload_json(const struct daemon *d);
void reload_free(struct daemon *d);

/* What DPDK says, from now on: enum config_log. At start, where it is not the default, and live. */
void reload_log_level(uint32_t level);

#endif
