/* SPDX-License-Identifier: BSD-3-Clause */
/* The console on a terminal: libedit reads lines and keeps their history, the grammar completes. */
#include <errno.h>
#include <glob.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "sluice/console.h"
#include "sluice/text.h"

#define HISTORY_LINES 500
#define CHOICES_MAX   128
#define CHOICE_MAX    256
#define LINE_WIDTH    78
#define CTRL_C        3

/* Words that may stand where the cursor is. */
struct choices {
    char word[CHOICES_MAX][CHOICE_MAX];
    unsigned n;
    char hints[512]; /* values that only people know */
    const struct console *console;
    const char *begun;
};

struct editor {
    struct console *console;
    EditLine *el;
    History *history;
    struct choices choices;
    mbstate_t bytes; /* of a character that is not whole yet */
};

/* Signal handlers know nothing but globals. */
static volatile sig_atomic_t interrupted, resized;

static void on_signal(int number)
{
    if (number == SIGINT)
        interrupted = 1;
    else
        resized = 1;
}

/* ---- completion --------------------------------------------------------------------------- */

static void choice_add(struct choices *ch, const char *word)
{
    if (ch->n == CHOICES_MAX || strlen(word) >= CHOICE_MAX ||
        strncmp(word, ch->begun, strlen(ch->begun)) != 0)
        return;
    for (unsigned i = 0; i < ch->n; i++)
        if (strcmp(ch->word[i], word) == 0)
            return;
    strcpy(ch->word[ch->n++], word);
}

static void value_add(void *ctx, const char *word, const struct grammar_kind *kind)
{
    choice_add(ctx, word);
}

static void files_add(struct choices *ch)
{
    char pattern[CHOICE_MAX + 2];
    glob_t found = {0};

    if (strpbrk(ch->begun, "*?[\\") != NULL)
        return;
    snprintf(pattern, sizeof pattern, "%.*s*", CHOICE_MAX, ch->begun);
    if (glob(pattern, GLOB_MARK, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            choice_add(ch, found.gl_pathv[i]);
    globfree(&found);
}

/* A word as it stands, or the values of a kind as far as they are known. */
static void word_add(void *ctx, const char *word, const struct grammar_kind *kind)
{
    struct choices *ch = ctx;
    unsigned before = ch->n;
    size_t len = strlen(ch->hints);

    if (kind == NULL) {
        choice_add(ch, word);
        return;
    }
    if (strcmp(word, "FILE") == 0)
        files_add(ch);
    else if (ch->console->values != NULL)
        ch->console->values(ch->console->ctx, kind, value_add, ch);
    if (ch->n == before)
        snprintf(ch->hints + len, sizeof ch->hints - len, "%s%s, such as %s", len > 0 ? "; " : "",
                 word, kind->example);
}

/* Bytes that all choices begin with. */
static size_t choices_common(const struct choices *ch)
{
    size_t len = strlen(ch->word[0]);

    for (unsigned i = 1; i < ch->n; i++)
        for (size_t k = 0; k < len; k++)
            if (ch->word[i][k] != ch->word[0][k])
                len = k;
    return len;
}

static void choices_print(const struct choices *ch)
{
    char safe[CHOICE_MAX];
    size_t column = 0;

    putchar('\n');
    for (unsigned i = 0; i < ch->n; i++) {
        size_t len = strlen(text_safe(safe, sizeof safe, ch->word[i])) + 2;

        if (column > 0 && column + len > LINE_WIDTH) {
            putchar('\n');
            column = 0;
        }
        printf("%s  ", safe);
        column += len;
    }
    if (column > 0)
        putchar('\n');
    if (ch->hints[0] != 0)
        printf("%s\n", ch->hints);
    fflush(stdout);
}

static void word_pass(void *ctx, const char *word, const struct grammar_kind *kind)
{
}

/* The word begun at the end of line: as grammar_expect() counts it. */
static const char *begun_of(const struct console *c, const char *line)
{
    return line + strlen(line) - grammar_expect(&c->grammar, line, word_pass, NULL);
}

static unsigned char key_complete(EditLine *el, int key)
{
    char line[GRAMMAR_LINE_MAX + 1], more[CHOICE_MAX + 1];
    const LineInfo *at = el_line(el);
    size_t len = (size_t)(at->cursor - at->buffer), begun, common;
    struct editor *e;
    struct choices *ch;

    el_get(el, EL_CLIENTDATA, &e);
    if (len >= sizeof line)
        return CC_ERROR;
    memcpy(line, at->buffer, len);
    line[len] = 0;
    ch = &e->choices;
    ch->n = 0;
    ch->hints[0] = 0;
    ch->console = e->console;
    ch->begun = begun_of(e->console, line);
    begun = strlen(ch->begun);
    grammar_expect(&e->console->grammar, line, word_add, ch);
    common = ch->n > 0 ? choices_common(ch) : 0;
    if (ch->n == 0 && ch->hints[0] == 0)
        return CC_REFRESH_BEEP;
    if (ch->hints[0] != 0 && begun == 0) { /* a value is as good as a word: nothing is chosen */
        choices_print(ch);
        return CC_REDISPLAY;
    }
    if (common > begun || (ch->n == 1 && ch->hints[0] == 0)) {
        bool whole = ch->n == 1 && ch->word[0][common - 1] != '/';

        snprintf(more, sizeof more, "%.*s%s", (int)(common - begun), ch->word[0] + begun,
                 whole ? " " : "");
        return el_insertstr(el, more) == 0 ? CC_REFRESH : CC_ERROR;
    }
    choices_print(ch);
    return CC_REDISPLAY;
}

/* The line is given up. */
static unsigned char key_interrupt(EditLine *el, int key)
{
    const LineInfo *at = el_line(el);

    el_cursor(el, (int)(at->lastchar - at->cursor));
    at = el_line(el);
    el_deletestr(el, (int)(at->lastchar - at->buffer));
    fputs("^C\n", stdout);
    fflush(stdout);
    return CC_REDISPLAY;
}

/* ---- keys --------------------------------------------------------------------------------- */

/* 1 and a character, 0 at the end, -1: an error. */
static int key_read(EditLine *el, wchar_t *out)
{
    struct editor *e;

    el_get(el, EL_CLIENTDATA, &e);
    for (;;) {
        struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = e->console->stop_fd, .events = POLLIN}};
        char byte;

        if (interrupted != 0) {
            interrupted = 0;
            *out = CTRL_C;
            return 1;
        }
        if (resized != 0) {
            resized = 0;
            el_resize(el);
        }
        if (poll(p, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        if (p[1].revents != 0 || read(STDIN_FILENO, &byte, 1) != 1)
            return 0;
        switch (mbrtowc(out, &byte, 1, &e->bytes)) {
        case (size_t)-1:
            memset(&e->bytes, 0, sizeof e->bytes);
            *out = L'?';
            return 1;
        case (size_t)-2:
            continue;
        default:
            return 1;
        }
    }
}

static char *prompt(EditLine *el)
{
    struct editor *e;

    el_get(el, EL_CLIENTDATA, &e);
    return (char *)(uintptr_t)e->console->prompt;
}

/* ---- life --------------------------------------------------------------------------------- */

static bool editor_open(struct editor *e)
{
    HistEvent event;

    e->el = el_init(e->console->program, stdin, stdout, stderr);
    e->history = history_init();
    if (e->el == NULL || e->history == NULL)
        return false;
    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_PROMPT, prompt);
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_GETCFN, key_read);
    el_set(e->el, EL_ADDFN, "sluice-complete", "complete the word", key_complete);
    el_set(e->el, EL_ADDFN, "sluice-interrupt", "give the line up", key_interrupt);
    el_set(e->el, EL_BIND, "^I", "sluice-complete", NULL);
    el_set(e->el, EL_BIND, "^C", "sluice-interrupt", NULL);
    el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    return true;
}

static void editor_close(struct editor *e)
{
    if (e->el != NULL)
        el_end(e->el); /* the terminal is as it was */
    if (e->history != NULL)
        history_end(e->history);
}

static int editor_lines(struct editor *e)
{
    int code = CONSOLE_OK;

    while (!e->console->quit && code != CONSOLE_GONE) {
        HistEvent event;
        int n = 0;
        const char *line = el_gets(e->el, &n);

        if (line == NULL || n <= 0) {
            putchar('\n');
            return CONSOLE_OK;
        }
        if (line[strspn(line, " \t\r\n")] != 0)
            history(e->history, &event, H_ENTER, line);
        code = console_line(e->console, line);
    }
    return code == CONSOLE_GONE ? code : CONSOLE_OK;
}

int editor_talk(struct console *c)
{
    struct sigaction mine = {.sa_handler = on_signal}, before[2];
    struct editor *e = calloc(1, sizeof *e);
    bool signals = c->stop_fd < 0; /* with one, signals are the program's */
    int code = CONSOLE_LOCAL;

    if (e == NULL)
        return CONSOLE_LOCAL;
    e->console = c;
    if (signals) {
        sigaction(SIGINT, &mine, &before[0]);
        sigaction(SIGWINCH, &mine, &before[1]);
    }
    if (editor_open(e))
        code = editor_lines(e);
    else
        fprintf(stderr, "%s: this terminal cannot be used; pipe the commands in\n", c->program);
    editor_close(e);
    if (signals) {
        sigaction(SIGINT, &before[0], NULL);
        sigaction(SIGWINCH, &before[1], NULL);
    }
    free(e);
    return code;
}
