/* SPDX-License-Identifier: BSD-3-Clause */
/* A console's other end: a daemon, through a session with it. It shows what views show; what is
 * to be changed goes to the daemon's control as it stands. */
#ifndef SLUICE_COMMAND_REMOTE_H
#define SLUICE_COMMAND_REMOTE_H

#include <stdbool.h>

#include "client/sluice.h"
#include "sluice/console.h"

struct remote {
    struct sluice *session; /* the caller's */
    bool json;
};

/* A console of this program's for r; prompt as is. */
void remote_console(struct remote *r, const char *program, const char *prompt, struct console *out);

#endif
