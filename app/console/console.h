/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A console reads lines from a terminal, a pipe, a file or the command line, parses them by the
 * grammar, and executes them. The console itself executes load, help and quit; the program executes
 * its own commands (run).
 *
 * Errors go to stderr as "PROGRAM: [FILE:LINE: ]what". A console knows nothing of a session with a
 * daemon: the program keeps its session in ctx.
 */
#ifndef SLUICE_COMMAND_CONSOLE_H
#define SLUICE_COMMAND_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "console/grammar.h"

/* The result of a line; these are the exit codes of sluice exec, too (sluice(1)). */
enum console_code {
    CONSOLE_OK = 0,
    CONSOLE_REFUSED = 1, /* the line is right, but cannot be executed */
    CONSOLE_WORDS = 2,
    CONSOLE_GONE = 3,  /* no daemon */
    CONSOLE_LOCAL = 5, /* a file here, or our own output, failed */
};

struct console {
    struct grammar grammar;
    const char *program, *prompt;
    /* Executes a command of the program's. Returns an enum console_code, with a line in err unless
     * it is CONSOLE_OK. */
    int (*run)(void *ctx, const struct grammar_line *l, char *err, size_t err_len);
    /* For completion: calls found(to, ...) for each existing value of this kind. May be NULL. */
    void (*values)(void *ctx, const struct grammar_kind *kind, grammar_found found, void *to);
    void *ctx;
    int stop_fd; /* the console ends when this is readable; -1: none */
    /* Private to the console: 0 at first. */
    unsigned depth; /* how deep loaded files are nested */
    bool quit;
};

/* Executes one line. */
int console_line(struct console *c, const char *line);
/* Executes the lines of a file, up to the first that fails. check: only parses them. */
int console_load(struct console *c, const char *path, bool check);
/* Executes lines of stdin until its end, quit, or stop_fd. A terminal has a prompt, history and
 * completion. Returns the first code that was not CONSOLE_OK; but on a terminal, CONSOLE_GONE if
 * the daemon went away, CONSOLE_LOCAL if the terminal cannot be used, and otherwise CONSOLE_OK. */
int console_talk(struct console *c);

/* editor.c: console_talk() on a terminal. run() executes a line. */
int editor_talk(struct console *c, int (*run)(struct console *c, const char *line));

#endif
