/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terminal as a page: its size, its keys, and its state. The state is restored however the
 * process ends, except by SIGKILL: when it exits, when a signal ends or stops it, when it crashes.
 * Only plain ANSI sequences are used. The state is global, since a process has one terminal.
 */
#ifndef SLUICE_COMMAND_TERMINAL_H
#define SLUICE_COMMAND_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What terminal_key() returns besides bytes. */
enum terminal_key {
    TERMINAL_NONE = 256, /* the time is over, or the key is unknown */
    TERMINAL_DRAW,       /* resized, or in the foreground again: draw everything again */
    TERMINAL_STOP,       /* a signal asked to end (terminal_signal()), or the input has ended */
    TERMINAL_ESCAPE,
    TERMINAL_UP,
    TERMINAL_DOWN,
    TERMINAL_PAGE_UP,
    TERMINAL_PAGE_DOWN,
    TERMINAL_HOME,
    TERMINAL_END,
};

/* Takes over standard input and output. Returns an exit code; the error is printed. */
int terminal_open(void);
void terminal_close(void);

/* Whether the locale's characters are UTF-8; whether colours are wanted ($NO_COLOR,
 * no-color.org). */
bool terminal_utf8(void);
bool terminal_colours(void);
/* At least 1 x 1; 24 x 80 where the terminal does not say. */
void terminal_size(unsigned *rows, unsigned *columns);

/* Waits for a key until CLOCK_MONOTONIC until_ns. Returns a byte, or an enum terminal_key. */
int terminal_key(uint64_t until_ns);
/* The signal that asked to end; 0: none. */
int terminal_signal(void);
/* Shows a whole page: lines end with \n, the last one without. False: the terminal is gone. */
bool terminal_show(const char *page, size_t len);

#endif
