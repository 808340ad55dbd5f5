/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every command's loop needs: the session with the daemon, signals, the clock, sleeping.
 *
 * Invariant: after loop_open() or loop_signals(), a first SIGINT, SIGTERM or SIGHUP only wakes
 * loop_wait(), and loop_signal() returns it; the same signal again ends the process. SIGPIPE is
 * ignored. Times are CLOCK_MONOTONIC in ns.
 */
#ifndef SLUICE_COMMAND_LOOP_H
#define SLUICE_COMMAND_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "client/sluice.h"

struct loop {
    struct sluice *session;
    int fd; /* sluice_fd() of the session: readable when sluice_poll() may have something; -1: there
               is no session */
};

/* Opens the session and catches the signals. Returns an exit code; the error is printed. */
int loop_open(struct loop *l, const char *socket_path);
/* The error of a sluice_open() that has failed: without memory or quota, there is a daemon
 * nevertheless. Prints it; returns the exit code. */
int loop_refused(int err, const char *why);
void loop_close(struct loop *l);
/* Catches the signals only, for code that runs without a session. */
void loop_signals(void);

/* The signal that asked to stop; 0: none. */
int loop_signal(void);
/* Asks to stop with this exit code, as a signal does. The first code counts. */
void loop_end(int code);
/* The exit code with which to stop: 128 + the signal, or that of loop_end(); 0: go on. */
int loop_code(void);

/* Has loop_wait() also wait for fd, and call ready(context) when fd is readable or at its end. At
 * most LOOP_WATCHED_MAX descriptors are watched at a time. */
#define LOOP_WATCHED_MAX 2 /* the two ends of a copy between two other hosts */
void loop_watch(int fd, void (*ready)(void *context), void *context);
/* Ends that; does nothing if fd is not watched. To be called before fd is closed. */
void loop_unwatch(int fd);

/*
 * Sleeps until the session has completions, extra_fd (-1: none) or a descriptor of loop_watch() is
 * readable or at its end, a signal comes, or timeout_ns has passed (UINT64_MAX: no limit). Returns
 * true if extra_fd is ready.
 *
 * May return at once without any of these, unless the last sluice_poll() took nothing and no other
 * call that waits for the daemon came after it: the session's descriptor may still be readable.
 */
bool loop_wait(struct loop *l, int extra_fd, uint64_t timeout_ns);
/* The same, until loop_now() is end_ns (UINT64_MAX: no limit); returns at once if that is over. */
bool loop_wait_until(struct loop *l, int extra_fd, uint64_t end_ns);

static inline uint64_t loop_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
