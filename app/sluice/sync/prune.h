/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removes at the receiver what the sender does not have (--delete, --delete-before).
 *
 * Only directories are looked into whose content the sender has named; the part files of
 * interrupted transfers stay as long as --keep-partial says.
 */
#ifndef SLUICE_COMMAND_PRUNE_H
#define SLUICE_COMMAND_PRUNE_H

#include "sluice/files/destination.h"
#include "sluice/files/remove.h"
#include "sluice/sync/sync.h"

/* How things are removed in a sync, also those in the way of others. */
struct remove_rules prune_rules(const struct sync_options *o);
/* Removes. Returns an exit code; errors are printed. */
int prune_run(const struct sync *s, const struct destination *d, bool quiet);

#endif
