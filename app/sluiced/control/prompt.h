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
/* Starts the thread, if there is anything to run. On any of cpus, not bound to a worker's lcore. */
void prompt_start(const char *socket, const cpu_set_t *cpus);
/* False if the file's commands failed. */
bool prompt_stop(void);

#endif
