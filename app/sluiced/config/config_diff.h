/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two configurations: what is different, and what of it a running daemon can take over. Needs no
 * EAL. The lists that people read: doc/configuration.md.
 */
#ifndef SLUICED_CONFIG_DIFF_H
#define SLUICED_CONFIG_DIFF_H

#include <stdbool.h>

#include "sluiced/config/config.h"
#include "sluiced/config/config_key.h"

/* Can this key of one of the tables change while the daemon runs? */
bool config_key_live(const struct config_key *keys, const char *name);

/* Told of each difference, in words: "[port p0] capacity", "[peer a], which is new". */
typedef void config_diff_fn(void *ctx, const char *what, bool live);
/* Ports and peers are the same if their names are. */
void config_diff(const struct config *now, const struct config *next, config_diff_fn *tell,
                 void *ctx);
/* Takes over what is live: afterwards config_diff() tells only of the rest. */
void config_take_live(struct config *now, const struct config *next);

#endif
