/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the box's workers on lcores. */
#ifndef EMU_WORKER_H
#define EMU_WORKER_H

#include "emu/box.h"

/* Takes up to 2 * CABLE_QUEUES_MAX lcores for workers: all but the main one, or that one if it is
 * alone. Returns how many, and writes their numbers to lcores. */
uint16_t worker_lcores(unsigned int lcores[2 * CABLE_QUEUES_MAX]);
/* Does a worker have the main lcore? Control then needs a thread of its own. */
bool worker_has_main(const struct box *b);
/* Starts the workers that have lcores of their own. */
void workers_launch(struct box *b);
/* Runs a worker on this lcore until box->stop is set. arg: struct box_worker. */
int worker_run(void *arg);
/* Waits until no worker can still be using memory that is about to be unmapped (common/grace.h).
 * ctx: struct box. */
void workers_pass(void *ctx);

#endif
