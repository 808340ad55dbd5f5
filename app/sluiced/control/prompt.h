/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's own console (-i, --cmdline-file). It is a thread that is a client like any other, so
 * it touches nothing that belongs to control or workers.
 */
#ifndef SLUICED_PROMPT_H
#define SLUICED_PROMPT_H

#include <sched.h>
#include <stdbool.h>

/* Sets what prompt_start() runs; file NULL: none. False, with the reason printed, if the file holds
 * anything but commands. */
bool prompt_set(bool interactive, const char *file);
/* Starts the thread, if there is anything to run. It may run on all of `cpus`, and so is not bound
 * to the caller's lcore. */
void prompt_start(const char *socket, const cpu_set_t *cpus);
/* Ends the thread. False if the console did not start, or if commands of the file failed and no
 * interactive console followed. */
bool prompt_stop(void);

#endif
