/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of the daemon's ports: which there are, and the clock that gives their frames the time
 * of day. worker/capture.h copies the frames. Everything here runs on the control lcore, for
 * session_capture.c, which checks the user's rights (struct sessions_config has the contract). The
 * log says when a capture begins and ends.
 */
#ifndef SLUICED_CAPTURES_H
#define SLUICED_CAPTURES_H

#include <stddef.h>

#include "sluiced/session/session.h"

#define CAPTURES_PORT_MAX 4u /* captures of one port: each is a copy of all its frames */

struct daemon;

int captures_begin(void *daemon, struct session_capture *what, struct capture **made, char *text,
                   size_t text_len);
void captures_end(void *daemon, struct capture *c);
void captures_free(void *daemon, struct capture *c);
/* To be called every control interval. */
void captures_tick(struct daemon *d);

#endif
