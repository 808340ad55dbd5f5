/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's own console (-i, --cmdline-file): a thread that is a client like any other, so that
 * nothing it does touches what belongs to control or workers.
 */
#ifndef SLUICED_PROMPT_H
#define SLUICED_PROMPT_H

#include <sched.h>
#include <stdbool.h>

/* What is asked for; file NULL: none. False, with the reason said, if file is not made of commands.
 */
bool prompt_set(bool interactive, const char *file);
/* Does nothing if nothing is asked for. On cpus: not with a worker's lcore. */
void prompt_start(const char *socket, const cpu_set_t *cpus);
/* False if the file's commands failed. */
bool prompt_stop(void);

#endif
