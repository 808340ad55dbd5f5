/* SPDX-License-Identifier: BSD-3-Clause */
/* The console's commands for a `sluice perf` in its background: start, show and stop perf. */
#ifndef SLUICE_COMMAND_REMOTE_PERF_H
#define SLUICE_COMMAND_REMOTE_PERF_H

#include "sluice/remote/remote.h"

/* These three return a console code, with a line in err if the code is not CONSOLE_OK. */
int remote_perf_start(struct remote *r, const struct grammar_line *l, char *err, size_t err_len);
int remote_perf_show(struct remote *r, char *err, size_t err_len);
int remote_perf_stop(struct remote *r, char *err, size_t err_len);
/* Prints a line, once, if the perf has ended by itself. */
void remote_perf_notice(struct remote *r);
/* To be called when the console ends: stops the perf, and prints its output. */
void remote_perf_close(struct remote *r);

#endif
