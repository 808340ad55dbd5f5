/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that listens on a daemon's socket. */
#ifndef SLUICE_COMMAND_DAEMON_PID_H
#define SLUICE_COMMAND_DAEMON_PID_H

/* The process ID of the daemon that listens on the socket at `path`. 0: a daemon answers, but
 * cannot be seen from here (another PID namespace). Negative errno: none answers; -ENAMETOOLONG:
 * the path is too long for a socket. Does not wait. */
int daemon_pid(const char *path);

#endif
