/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a console's commands on a daemon, through a session with it. Commands that show something
 * print views (view.h); commands that change something go unchanged to the daemon's control. */
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
    bool stays; /* the console outlives one command or file, so it may have a background job */
    struct perf_job perf; /* the background job, owned by the console; none at first */
};

/* Fills *out with a console that runs its commands on r. program: the name of this program, for
 * messages. The prompt is printed unchanged. */
void remote_console(struct remote *r, const char *program, const char *prompt, struct console *out);
/* Ends the background job. To be called before the session is closed. */
void remote_close(struct remote *r);

#endif
