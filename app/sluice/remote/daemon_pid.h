/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose process it is that listens at a daemon's socket. */
#ifndef SLUICE_COMMAND_DAEMON_PID_H
#define SLUICE_COMMAND_DAEMON_PID_H

/* Its number; 0: it answers, but cannot be seen from here (another PID namespace); negative errno:
 * nobody answers, or, -ENAMETOOLONG, no socket has such a path. Does not wait. */
int daemon_pid(const char *path);

#endif
