/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terminal as a page: its size, keys, and its state, which is put back however the process
 * ends, but for SIGKILL: at its end, by a signal that ends or stops it, by one that says it is
 * broken. Plain ANSI sequences; there is one terminal, so its state is one for the process.
 */
#ifndef SLUICE_COMMAND_TERMINAL_H
#define SLUICE_COMMAND_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What terminal_key() returns besides bytes. */
enum terminal_key {
    TERMINAL_NONE = 256, /* the time is over */
    TERMINAL_DRAW,       /* resized, or in the foreground again: draw all anew */
    TERMINAL_STOP,       /* a signal asks to end (terminal_signal()), or nobody types any more */
    TERMINAL_ESCAPE,
    TERMINAL_UP,
    TERMINAL_DOWN,
    TERMINAL_PAGE_UP,
    TERMINAL_PAGE_DOWN,
    TERMINAL_HOME,
    TERMINAL_END,
};

/* Takes standard input and output: an exit code, with the error said. */
int terminal_open(void);
void terminal_close(void);

/* The locale's characters are UTF-8; colours are wanted ($NO_COLOR, no-color.org). */
bool terminal_utf8(void);
bool terminal_colours(void);
/* At least 1 x 1; 24 x 80 where the terminal does not say. */
void terminal_size(unsigned *rows, unsigned *columns);

/* A byte, or one of enum terminal_key, until CLOCK_MONOTONIC until_ns. */
int terminal_key(uint64_t until_ns);
/* The signal that asked to end; 0: none. */
int terminal_signal(void);
/* Shows a whole page: lines end with \n, the last one without. False: the terminal is gone. */
bool terminal_show(const char *page, size_t len);

#endif
