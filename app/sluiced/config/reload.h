/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the configuration again while the daemon runs, on the control lcore.
 *
 * Invariant: a wrong file changes nothing. From a good file, all keys that can change live are
 * taken over; keys that need a restart keep their values. The changed keys of both kinds are
 * reported by name.
 */
#ifndef SLUICED_RELOAD_H
#define SLUICED_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct access_user;
struct config_daemon;
struct daemon;
struct reload;

/* Reads the daemon's file, applies the changes that need no restart, and logs all changes. */
void reload_run(struct daemon *d);
/* The last reload, as an array of one object; empty if there was none. See show.c. What has
 * changed, or what is wrong with the file, is for viewers that see everything. */
json_t *reload_json(const struct daemon *d, const struct access_user *viewer);
void reload_free(struct daemon *d);
/* Was the file of the last reload wrong? */
bool reload_failed(const struct daemon *d);

/* Sets format and level of our own lines. */
void reload_log(const struct config_daemon *c);
/* Sets DPDK's log level (enum config_log). Called at start if the level is not the default, and at
 * a reload that changes the level. */
void reload_log_level(uint32_t level);

#endif
