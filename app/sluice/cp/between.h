/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The near end of `sluice cp` between two other hosts: starts a far end on each, and has one send
 * to the other. No payload passes here, and no daemon is needed here.
 *
 * The receiver is told what the user asks the sender for, and takes nothing else; the sender is
 * told the receiver's addresses, its service and the token. The sender reports what the user is to
 * see: progress, files, and how all ended (message_report.h).
 */
#ifndef SLUICE_COMMAND_BETWEEN_H
#define SLUICE_COMMAND_BETWEEN_H

#include "sluice/cp/near.h"

/* Copies from o->from_host to o->host. Returns an exit code; errors are printed. The files "here"
 * are those of the source: 5 is an error of a file there, 6 of one at the target. */
int between_run(const struct near_options *o);

#endif
