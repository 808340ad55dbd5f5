/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What operators change while the daemon runs: lines of its console (console/words.h), done on the
 * control lcore between two of its rounds, so nothing here needs a lock.
 */
#ifndef SLUICED_COMMAND_H
#define SLUICED_COMMAND_H

#include <stddef.h>

/* For sessions_config: 0 and a remark ("": none) in text, or negative errno and why. */
int command_run(void *daemon, const char *line, char *text, size_t text_len);

#endif
