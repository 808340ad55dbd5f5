/* SPDX-License-Identifier: BSD-3-Clause */
/* A console's other end: a daemon, through a session with it. It shows what views show; what is
 * to be changed goes to the daemon's control as it stands. */
#ifndef SLUICE_COMMAND_REMOTE_H
#define SLUICE_COMMAND_REMOTE_H

#include <stdbool.h>

#include "client/sluice.h"
#include "console/console.h"
#include "sluice/remote/perf_job.h"

struct remote {
    struct sluice *session; /* the caller's */
    const char *socket;     /* where that is; NULL: SLUICE_SOCKET_DEFAULT */
    bool json;
    bool stays; /* for more than a command or a file: there may be things in its background */
    struct perf_job perf; /* our own; none at first */
};

/* A console of this program's for r; prompt as is. */
void remote_console(struct remote *r, const char *program, const char *prompt, struct console *out);
/* Ends what it has started, before its session is closed. */
void remote_close(struct remote *r);

#endif
