/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two configurations: what differs, and which differences a running daemon can take over.
 * Needs no EAL. doc/configuration.md lists which keys a running daemon can take over.
 */
#ifndef SLUICED_CONFIG_DIFF_H
#define SLUICED_CONFIG_DIFF_H

#include <stdbool.h>

#include "sluiced/config/config.h"
#include "sluiced/config/config_key.h"

/* Can the key `name` of the table `keys` change while the daemon runs? */
bool config_key_live(const struct config_key *keys, const char *name);

/* Called with each difference in words: "[port p0] capacity", "[peer a], which is new". */
typedef void config_diff_fn(void *ctx, const char *what, bool live);
/* Matches ports, peers and services by their names. */
void config_diff(const struct config *now, const struct config *next, config_diff_fn *tell,
                 void *ctx);
/* Copies the live keys from *next to *now; afterwards config_diff() finds only the other
 * differences. */
void config_take_live(struct config *now, const struct config *next);

#endif
