/* SPDX-License-Identifier: BSD-3-Clause */
/* The far end of `sluice cp`: does its half of a transfer as the near end tells it over standard
 * input and output. */
#ifndef SLUICE_COMMAND_SERVER_H
#define SLUICE_COMMAND_SERVER_H

#include <stddef.h>

/* version: of this program. socket: of the daemon, or NULL. Returns an exit code. */
int server_run(const char *version, const char *socket);

/* The path that is meant by one of the near end, to free(): "" is the home directory, and so is "~"
 * at the start, or "~USER" that of a user. NULL, with a message in why: there is no such user, or
 * no memory. */
char *server_path(const char *path, char *why, size_t why_len);

#endif
