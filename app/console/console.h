/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A console: lines from a terminal, a pipe, a file or the command line, read by the grammar and
 * done. What is the program's own it does itself (run); load, help and quit are done here.
 *
 * Errors go to stderr as "PROGRAM: [FILE:LINE: ]what". No session: that is in ctx.
 */
#ifndef SLUICE_COMMAND_CONSOLE_H
#define SLUICE_COMMAND_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "console/grammar.h"

/* What a line comes to; exit codes of sluice exec, too (sluice(1)). */
enum console_code {
    CONSOLE_OK = 0,
    CONSOLE_REFUSED = 1, /* the words are right, but it cannot be done */
    CONSOLE_WORDS = 2,
    CONSOLE_GONE = 3,  /* no daemon */
    CONSOLE_LOCAL = 5, /* a file here, or our own output */
};

struct console {
    struct grammar grammar;
    const char *program, *prompt;
    /* Does a command of the program's: a code, with a line in err if it is not CONSOLE_OK. */
    int (*run)(void *ctx, const struct grammar_line *l, char *err, size_t err_len);
    /* For completion: values of that kind that there are; may be NULL. */
    void (*values)(void *ctx, const struct grammar_kind *kind, grammar_found found, void *to);
    void *ctx;
    int stop_fd; /* readable: the console ends; -1: none */
    /* The console's own: 0 at first. */
    unsigned depth; /* files that are being loaded */
    bool quit;
};

/* One line. */
int console_line(struct console *c, const char *line);
/* The lines of a file, up to the first that fails; check: they are read, not done. */
int console_load(struct console *c, const char *path, bool check);
/* Lines of stdin until its end, quit, or stop_fd: with a prompt, history and completion if it is a
 * terminal. The first code that was not CONSOLE_OK, or, of a terminal, the last if the daemon went.
 */
int console_talk(struct console *c);

/* editor.c: the same of a terminal; run does a line. */
int editor_talk(struct console *c, int (*run)(struct console *c, const char *line));

#endif
