/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A `sluice perf` in the background of a console: a child process, whose words go to a file in
 * memory. Its figures are the daemon's connections.
 *
 * Invariant: it ends with the console, however that ends.
 */
#ifndef SLUICE_COMMAND_PERF_JOB_H
#define SLUICE_COMMAND_PERF_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "console/words.h"

#define PERF_JOB_SAID_MAX 16384 /* bytes: of what it said, the newest so many are kept */

struct perf_job {
    pid_t pid;     /* 0: none */
    bool running;  /* else it has ended, with status */
    bool asked_to; /* it was stopped by us */
    bool reported; /* somebody was told that it has ended: the console's */
    int status;    /* as an exit code: sluice(1) */
    int said_fd;
    uint64_t begun_ns, ended_ns; /* loop_now() */
    char whom[WORDS_PEER_MAX];   /* "server", or the peer; for people */
};

/* How it is to be started. */
struct perf_job_order {
    const char *whom;    /* "server", or HOST[:PORT] */
    const char *options; /* of sluice perf, blanks between; "": none */
    const char *socket;  /* the daemon's; NULL: SLUICE_SOCKET_DEFAULT */
    bool json;
};

/* 0, or a negative errno with a line in err. There must be none. */
int perf_job_start(struct perf_job *j, const struct perf_job_order *o, char *err, size_t err_len);
/* Sees whether it has ended. */
bool perf_job_ended(struct perf_job *j);
/* As Ctrl-C; by force if it has not ended by then. */
void perf_job_stop(struct perf_job *j, uint64_t wait_ns);
/* What it said, to free(); "" if there is nothing, NULL: no memory. */
char *perf_job_said(const struct perf_job *j);
/* It must have ended; then there is none. */
void perf_job_forget(struct perf_job *j);

#endif
