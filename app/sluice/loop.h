/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every command's loop needs: the session with the daemon, signals, the clock, sleeping.
 *
 * Invariant: after loop_open() SIGINT, SIGTERM and SIGHUP only set loop_signal() and wake
 * loop_wait(); a second one ends the process. SIGPIPE is ignored. Times are CLOCK_MONOTONIC in ns.
 */
#ifndef SLUICE_COMMAND_LOOP_H
#define SLUICE_COMMAND_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "client/sluice.h"

struct loop {
    struct sluice *session;
    int fd; /* of the session */
};

/* Opens the session: an exit code, with the error said. */
int loop_open(struct loop *l, const char *socket_path);
void loop_close(struct loop *l);
/* Only the signals, for what runs without a session. */
void loop_signals(void);

/* The signal that asks to stop, 0: none. */
int loop_signal(void);

/*
 * Sleeps, if the last sluice_poll() took nothing and no other call that waits for the daemon came
 * after it, until the session has completions, extra_fd (-1: none) is readable or at its end, a
 * signal comes or timeout_ns passed (UINT64_MAX: no limit). True if extra_fd has something.
 */
bool loop_wait(struct loop *l, int extra_fd, uint64_t timeout_ns);

static inline uint64_t loop_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
