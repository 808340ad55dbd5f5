/* SPDX-License-Identifier: BSD-3-Clause */
/* See console.h. */
#include "console/console.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "console/words.h"

#define LOAD_DEPTH 8

static int load(struct console *c, const char *path, bool check, char *err, size_t err_len);

/* ---- help --------------------------------------------------------------------------------- */

static void help_print(void *ctx, const struct grammar_command *c)
{
    printf("  %-46s %s\n", c->pattern, c->help);
}

static int help(struct console *c, const char *topic, char *err, size_t err_len)
{
    char safe[48];
    const struct grammar_kind *k;

    if (grammar_help(&c->grammar, topic, help_print, NULL) == 0) {
        snprintf(err, err_len, "no command begins with \"%s\"; help alone lists all",
                 text_safe(safe, sizeof safe, topic));
        return CONSOLE_WORDS;
    }
    if (topic[0] != 0)
        return CONSOLE_OK;
    puts("Values, for example:");
    for (k = c->grammar.kinds; k->name != NULL; k++)
        printf("  %-8s %s\n", k->name, k->example);
    puts("Tab completes words, Ctrl-P and Ctrl-N show the history. Manual: sluice-console(7)");
    return CONSOLE_OK;
}

/* ---- lines -------------------------------------------------------------------------------- */

static int line_do(struct console *c, const char *text, bool check, char *err, size_t err_len)
{
    struct grammar_line l;

    if (grammar_parse(&c->grammar, text, &l, err, err_len) != 0)
        return CONSOLE_WORDS;
    if (l.command == NULL || check)
        return CONSOLE_OK;
    switch (l.command->run) {
    case WORDS_LOAD:
        return load(c, l.word[1], false, err, err_len);
    case WORDS_HELP:
        return help(c, l.n > 1 ? l.word[1] : "", err, err_len);
    case WORDS_QUIT:
        c->quit = true;
        return CONSOLE_OK;
    default:
        return c->run(c->ctx, &l, err, err_len);
    }
}

static int load_lines(struct console *c, FILE *f, const char *path, bool check, char *err,
                      size_t err_len)
{
    char *line = NULL, why[GRAMMAR_ERROR_MAX];
    unsigned number = 0;
    int code = CONSOLE_OK;
    size_t size = 0;

    while (code == CONSOLE_OK && !c->quit && getline(&line, &size, f) >= 0) {
        number++;
        code = line_do(c, line, check, why, sizeof why);
    }
    if (code != CONSOLE_OK) {
        snprintf(err, err_len, "%s:%u: %s", path, number, why);
    } else if (ferror(f)) {
        code = CONSOLE_LOCAL;
        snprintf(err, err_len, "%s: %s; give a file of commands, one per line", path,
                 strerror(errno));
    }
    free(line);
    return code;
}

static int load(struct console *c, const char *path, bool check, char *err, size_t err_len)
{
    char safe[128];
    FILE *f;
    int code;

    text_safe(safe, sizeof safe, path);
    if (c->depth == LOAD_DEPTH) {
        snprintf(err, err_len, "%s: files load each other more than %d deep; remove one", safe,
                 LOAD_DEPTH);
        return CONSOLE_LOCAL;
    }
    f = fopen(path, "re");
    if (f == NULL) {
        snprintf(err, err_len, "%s: %s; give a file of commands, one per line", safe,
                 strerror(errno));
        return CONSOLE_LOCAL;
    }
    c->depth++;
    code = load_lines(c, f, safe, check, err, err_len);
    c->depth--;
    fclose(f);
    return code;
}

/* Prints the error of a command, if there is one, and flushes stdout, which may fail as well.
 * Returns the code to report. */
static int said(const struct console *c, int code, const char *err)
{
    char safe[2 * GRAMMAR_ERROR_MAX];
    /* failed now, or earlier */
    int failed = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;

    clearerr(stdout); /* the error was this command's, not the next one's */
    if (failed != 0 && code == CONSOLE_OK) {
        fprintf(stderr, "%s: standard output: %s; check where it goes\n", c->program,
                strerror(failed));
        return CONSOLE_LOCAL;
    }
    if (code != CONSOLE_OK)
        fprintf(stderr, "%s: %s\n", c->program, text_safe(safe, sizeof safe, err));
    return code;
}

int console_line(struct console *c, const char *line)
{
    char err[2 * GRAMMAR_ERROR_MAX];

    return said(c, line_do(c, line, false, err, sizeof err), err);
}

int console_load(struct console *c, const char *path, bool check)
{
    char err[2 * GRAMMAR_ERROR_MAX];

    return said(c, load(c, path, check, err, sizeof err), err);
}

/* ---- no terminal -------------------------------------------------------------------------- */

/* Waits for bytes of stdin, not for lines. False if the console is to end. */
static bool pipe_wait(const struct console *c)
{
    struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                         {.fd = c->stop_fd, .events = POLLIN}};
    int n;

    do
        n = poll(p, 2, -1);
    while (n < 0 && errno == EINTR);
    return n > 0 && p[1].revents == 0;
}

struct pipe_line {
    char text[GRAMMAR_LINE_MAX + 2];
    size_t len;
    int code; /* the first that was not CONSOLE_OK */
};

/* Adds a byte to the line; a newline executes the line. A line that is too long is cut, but to a
 * length that the grammar still refuses. */
static void pipe_byte(struct console *c, struct pipe_line *l, char byte)
{
    int code;

    if (byte != '\n') {
        if (l->len < sizeof l->text - 1)
            l->text[l->len++] = byte == 0 ? '?' : byte;
        return;
    }
    l->text[l->len] = 0;
    l->len = 0;
    code = console_line(c, l->text);
    if (l->code == CONSOLE_OK)
        l->code = code;
    if (code == CONSOLE_GONE)
        c->quit = true;
}

static int pipe_talk(struct console *c)
{
    struct pipe_line l = {.len = 0};
    char bytes[4096];

    while (!c->quit && pipe_wait(c)) {
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n && !c->quit; i++)
            pipe_byte(c, &l, bytes[i]);
    }
    if (l.len > 0 && !c->quit)
        pipe_byte(c, &l, '\n');
    return l.code;
}

int console_talk(struct console *c)
{
    return isatty(STDIN_FILENO) ? editor_talk(c, console_line) : pipe_talk(c);
}
