/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a console's commands on a daemon, through a session with it. What is shown are views;
 * commands that change something go to the daemon's control as they are. */
#ifndef SLUICE_COMMAND_REMOTE_H
#define SLUICE_COMMAND_REMOTE_H

#include <stdbool.h>

#include "client/sluice.h"
#include "console/console.h"
#include "sluice/remote/perf_job.h"

struct remote {
    struct sluice *session; /* owned by the caller */
    const char *socket;     /* the session's; NULL: SLUICE_SOCKET_DEFAULT */
    bool json;
    bool stays;           /* it outlives one command or file, so it may have a background job */
    struct perf_job perf; /* owned by the console; none at first */
};

/* Fills *out: a console on r, with the name of this program. The prompt is used as it is. */
void remote_console(struct remote *r, const char *program, const char *prompt, struct console *out);
/* Ends the background job. To be called before the session is closed. */
void remote_close(struct remote *r);

#endif
