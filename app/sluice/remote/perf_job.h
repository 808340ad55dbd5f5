/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A `sluice perf` in the background of a console: a child process whose output goes to a file in
 * memory. Its figures come from the daemon's list of connections.
 *
 * Invariant: the child ends with the console, however the console ends.
 */
#ifndef SLUICE_COMMAND_PERF_JOB_H
#define SLUICE_COMMAND_PERF_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "console/words.h"

#define PERF_JOB_SAID_MAX 16384 /* newest bytes of its output that perf_job_said() returns */

struct perf_job {
    pid_t pid;     /* 0: none */
    bool running;  /* false: it has ended, with `status` */
    bool asked_to; /* we asked it to stop */
    bool reported; /* the console has said that it ended; written by the console */
    int status;    /* as an exit code: sluice(1) */
    int said_fd;
    uint64_t begun_ns, ended_ns; /* loop_now() */
    char whom[WORDS_PEER_MAX];   /* "server", or the peer; for people */
};

/* How to start it. */
struct perf_job_order {
    const char *whom;    /* "server", or HOST[:PORT] */
    const char *options; /* of sluice perf, separated by blanks; "": none */
    const char *socket;  /* the daemon's; NULL: SLUICE_SOCKET_DEFAULT */
    bool json;
};

/* Starts the child. 0, or a negative errno with a line in err. No job may be there already. */
int perf_job_start(struct perf_job *j, const struct perf_job_order *o, char *err, size_t err_len);
/* Checks whether it has ended; does not wait. */
bool perf_job_ended(struct perf_job *j);
/* Stops it as Ctrl-C would; kills it if it has not ended after wait_ns. */
void perf_job_stop(struct perf_job *j, uint64_t wait_ns);
/* Its output, which the caller frees; "": none yet; NULL: no memory. */
char *perf_job_said(const struct perf_job *j);
/* Forgets the job, which must have ended. */
void perf_job_forget(struct perf_job *j);

#endif
