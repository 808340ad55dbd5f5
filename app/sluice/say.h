/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for people on stderr, and the exit codes of the command. An error is one line,
 * "sluice: WHAT: CAUSE; CURE". A progress bar on the terminal is cleared before a line is written.
 */
#ifndef SLUICE_COMMAND_SAY_H
#define SLUICE_COMMAND_SAY_H

#include <stdbool.h>

/* Exit codes, as in sluice(1). A command that a signal ends returns 128 + the signal's number. */
enum say_exit {
    SAY_OK = 0,
    SAY_TRANSFER = 1, /* the transfer began, but did not end as it should */
    SAY_USAGE = 2,    /* the command line is wrong */
    SAY_DAEMON = 3,   /* the daemon is not reachable, or gone */
    SAY_PEER = 4,     /* the peer is unknown or unreachable, or refused */
    SAY_LOCAL = 5,    /* a file, directory or stream on this side */
    SAY_REMOTE = 6,   /* a file on the other side */
    SAY_RESOURCE = 7, /* memory, quota, service number or capture: the daemon has none left */
};

/* Writes the line of an error. Returns `code`. */
__attribute__((format(printf, 2, 3))) int say_error(int code, const char *format, ...);
/* Writes a remark that is no error: "sluice: ...". */
__attribute__((format(printf, 1, 2))) void say_note(const char *format, ...);

/* Hands each line to `line`, without "sluice: ", instead of writing it to stderr. */
void say_divert(void (*line)(void *context, bool error, const char *text), void *context);

/* Replaces the progress bar on the terminal; "" clears it. */
void say_bar(const char *text);

/* Exit code for a negative errno of libsluice. opened: the peer had answered before the error. */
int say_code(int status, bool opened);

/* Flushes stdout, and checks that Sluice's lines were written there. Returns SAY_LOCAL if not, with
 * a message unless the reader closed its pipe. Results for machines go to stdout, or to stderr
 * where stdout carries data. */
int say_flush(void);

#endif
