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

#define PERF_JOB_SAID_MAX 16384 /* newest bytes of the output that perf_job_said() returns */

struct perf_job {
    pid_t pid;     /* of the child; 0: there is no job */
    bool running;  /* false: the child has ended, with `status` */
    bool asked_to; /* we asked the child to stop */
    bool reported; /* the console has said that the child ended; written by the console */
    int status;    /* exit code of the child, or 128 + the signal that ended it */
    int said_fd;
    uint64_t begun_ns, ended_ns; /* loop_now() */
    char whom[WORDS_PEER_MAX];   /* "server", or the peer; for people */
};

/* How to start a job. */
struct perf_job_order {
    const char *whom;    /* "server", or HOST[:PORT] */
    const char *options; /* of sluice perf, separated by blanks; "": none */
    const char *socket;  /* the daemon's; NULL: SLUICE_SOCKET_DEFAULT */
    bool json;
};

/* Starts a job in *j, which must have none. 0, or a negative errno with a line in err. */
int perf_job_start(struct perf_job *j, const struct perf_job_order *o, char *err, size_t err_len);
/* Checks whether the job has ended; does not wait. */
bool perf_job_ended(struct perf_job *j);
/* Stops the job as Ctrl-C would; kills the job if it has not ended after wait_ns. */
void perf_job_stop(struct perf_job *j, uint64_t wait_ns);
/* The job's output, which the caller frees; "": none yet; NULL: no memory. */
char *perf_job_said(const struct perf_job *j);
/* Forgets the job, which must have ended. */
void perf_job_forget(struct perf_job *j);

#endif
