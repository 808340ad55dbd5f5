/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the command tells people on stderr, and its exit codes. An error is one line,
 * "sluice: WHAT: CAUSE; CURE". A progress bar on the terminal is cleared before a line is written.
 */
#ifndef SLUICE_COMMAND_SAY_H
#define SLUICE_COMMAND_SAY_H

#include <stdbool.h>

/* As in sluice(1); ended by a signal: 128 + its number. */
enum say_exit {
    SAY_OK = 0,
    SAY_TRANSFER = 1, /* began, but did not end as it should */
    SAY_USAGE = 2,    /* command line */
    SAY_DAEMON = 3,   /* not reachable, or gone */
    SAY_PEER = 4,     /* unknown, unreachable, refused */
    SAY_LOCAL = 5,    /* a file, directory or stream on this side */
    SAY_REMOTE = 6,   /* a file on the other side */
    SAY_RESOURCE = 7, /* memory, quota, service number: the daemon has no more of it */
};

/* Writes the line, returns code. */
__attribute__((format(printf, 2, 3))) int say_error(int code, const char *format, ...);
/* A remark: "sluice: ...", no error. */
__attribute__((format(printf, 1, 2))) void say_note(const char *format, ...);

/* Replaces the bar on the terminal; "" clears it. */
void say_bar(const char *text);

/* Exit code for a negative errno of libsluice; opened: the peer had answered before. */
int say_code(int status, bool opened);

/* Where results for machines go: stdout, or stderr where stdout carries data. Sluice's own stdout
 * lines are checked here: SAY_LOCAL with a message if they could not be written. */
int say_flush(void);

#endif
