/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands by which operators change a running daemon: lines of its console (console/words.h). They
 * run on the control lcore between two of its rounds, so nothing here needs a lock.
 */
#ifndef SLUICED_COMMAND_H
#define SLUICED_COMMAND_H

#include <stddef.h>

/* The callback `command` of struct sessions_config. Executes a line: returns 0 with a remark
 * ("": none) in text, or negative errno with the reason in text. */
int command_run(void *daemon, const char *line, char *text, size_t text_len);

#endif
