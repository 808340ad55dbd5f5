/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The console on a terminal. libedit edits lines; history.c keeps them; the grammar completes
 * words. Between libedit and the terminal stands key_next(): it reads the keys, in UTF-8 whatever
 * the locale, and ends the console when stop_fd says so. What libedit does not know or should not
 * do, it does not get.
 */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include <histedit.h>

#include "console/choices.h"
#include "console/console.h"
#include "console/history.h"

#define LINE_CHARS (2 * GRAMMAR_LINE_MAX) /* what is typed beyond so many is dropped */
#define KEY_BYTES  8                      /* of the longest key sequence that `keys` may have */
#define CTRL_C     3
#define ESCAPE     27
#define REPLACED   0xfffd /* stands for what is not UTF-8 */

struct editor {
    struct console *console;
    int (*run)(struct console *c, const char *line);
    EditLine *line;
    struct history_file history;
    struct choices choices;
    locale_t utf8, before;   /* of this thread: while it edits; else */
    bool dropped;            /* Ctrl-C has ended the line */
    char key[KEY_BYTES + 1]; /* the part of a key sequence that has come */
    size_t key_len;
    mbstate_t character; /* the part of a character that has come */
    const char *means;   /* the rest of what libedit gets for a key sequence */
    char again;          /* a byte that is to be read again; 0: none */
};

/* Keys of more than one byte: what terminals send, and what libedit gets instead. */
static const struct {
    const char *key, *means;
} keys[] = {
    {"\033[A", "\020"},     {"\033OA", "\020"},     {"\033[B", "\016"},       {"\033OB", "\016"},
    {"\033[C", "\006"},     {"\033OC", "\006"},     {"\033[D", "\002"},       {"\033OD", "\002"},
    {"\033[H", "\001"},     {"\033OH", "\001"},     {"\033[1~", "\001"},      {"\033[7~", "\001"},
    {"\033[F", "\005"},     {"\033OF", "\005"},     {"\033[4~", "\005"},      {"\033[8~", "\005"},
    {"\033[3~", "\033[3~"}, {"\033[1;5D", "\033b"}, {"\033[1;5C", "\033f"},   {"\033b", "\033b"},
    {"\033f", "\033f"},     {"\033d", "\033d"},     {"\033\177", "\033\177"},
};

/* What differs from libedit's keys: its key, and the name of its function or ours. */
static const struct {
    const char *key, *function;
} bindings[] = {
    {"^I", "choices"},
    {"?", "choices-list"},
    {"^C", "line-drop"},
    {"^R", "ed-search-prev-history"},
    {"^W", "ed-delete-prev-word"},
    {"\\e[3~", "ed-delete-next-char"},
};

/* Globals, because signal handlers get no context. */
static volatile sig_atomic_t interrupted, resumed;
static struct termios terminal; /* settings before the editor changed them */

static void on_signal(int number)
{
    if (number == SIGINT)
        interrupted = 1;
    else
        resumed = 1;
}

/* Restores the terminal. SA_RESETHAND makes raise() take the signal's default action. */
static void on_end(int number)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    raise(number);
}

static struct editor *editor_of(EditLine *line)
{
    struct editor *e = NULL;

    el_get(line, EL_CLIENTDATA, &e);
    return e;
}

/* ---- libedit's calls ---------------------------------------------------------------------- */

static char *prompt_of(EditLine *line)
{
    return (char *)(uintptr_t)editor_of(line)->console->prompt;
}

static unsigned char word_complete(EditLine *line, bool list)
{
    struct choices *ch = &editor_of(line)->choices;
    const LineInfo *at = el_line(line);
    char text[GRAMMAR_LINE_MAX + 1], more[CHOICE_MAX + 2];

    if (at->cursor - at->buffer > GRAMMAR_LINE_MAX)
        return CC_ERROR;
    snprintf(text, sizeof text, "%.*s", (int)(at->cursor - at->buffer), at->buffer);
    choices_find(ch, editor_of(line)->console, text);
    if (ch->n == 0 && ch->hints[0] == 0)
        return CC_ERROR;
    choices_more(ch, more, sizeof more);
    if (!list && more[0] != 0)
        return el_insertstr(line, more) == 0 ? CC_REFRESH : CC_ERROR;
    choices_print(ch);
    el_set(line, EL_REFRESH); /* all of it, below the list */
    return CC_NORM;
}

static unsigned char on_tab(EditLine *line, int key)
{
    return word_complete(line, false);
}

static unsigned char on_question_mark(EditLine *line, int key)
{
    return word_complete(line, true);
}

static unsigned char on_ctrl_c(EditLine *line, int key)
{
    editor_of(line)->dropped = true;
    fputs("^C\n", stdout);
    return CC_NEWLINE;
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Puts the editor's modes back, which a shell has changed while the console was stopped. */
static void on_resume(struct editor *e)
{
    el_set(e->line, EL_PREP_TERM, 0);
    el_set(e->line, EL_PREP_TERM, 1);
    el_set(e->line, EL_REFRESH);
}

/* Waits for a byte. False if the input has ended, or the console is to end. */
static bool byte_read(struct editor *e, char *byte)
{
    for (;;) {
        struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = e->console->stop_fd, .events = POLLIN}};

        fflush(stdout);
        if (e->again != 0) {
            *byte = e->again;
            e->again = 0;
            return true;
        }
        if (interrupted != 0) {
            interrupted = 0;
            *byte = CTRL_C;
            return true;
        }
        if (resumed != 0) {
            resumed = 0;
            on_resume(e);
            continue;
        }
        if (poll(p, 2, -1) >= 0)
            return p[1].revents == 0 && read(STDIN_FILENO, byte, 1) == 1;
        if (errno != EINTR)
            return false;
    }
}

/* Is `last` the last byte of a key that begins with Escape (ECMA-48, 5.4, and the keypad's)? */
static bool key_whole(const struct editor *e, char last)
{
    if (e->key_len == 2)
        return last != '[' && last != 'O';
    return e->key_len > 2 && (e->key[1] == 'O' || last >= '@');
}

/* Takes the bytes of keys that begin with Escape. libedit would take the last byte of an unknown
 * key for text. */
static void escape_take(struct editor *e, char byte)
{
    if (e->key_len < KEY_BYTES)
        e->key[e->key_len++] = byte;
    else
        e->key[0] = 0; /* too long to be known */
    if (!key_whole(e, byte))
        return;
    e->key[e->key_len] = 0;
    e->key_len = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].key, e->key) == 0) {
            e->means = keys[i].means;
            return;
        }
    }
    el_beep(e->line);
}

/* Takes a byte of a character. False if the character is not complete. What is not UTF-8, or would
 * control the terminal, shows as a replacement character, which no command takes. */
static bool character_take(struct editor *e, char byte, wchar_t *out)
{
    size_t len = mbrtowc(out, &byte, 1, &e->character);

    if (len == (size_t)-2)
        return false;
    if (len == (size_t)-1) {
        memset(&e->character, 0, sizeof e->character);
        *out = REPLACED;
        if ((byte & 0x80) == 0)
            e->again = byte; /* it has ended a character, and is one itself */
    } else if ((byte & 0x80) != 0 && !iswprint((wint_t)*out)) {
        *out = REPLACED;
    }
    return true;
}

static bool line_full(const struct editor *e)
{
    const LineInfoW *line = el_wline(e->line);

    return line->lastchar - line->buffer >= LINE_CHARS;
}

/* Gives libedit the next key. Returns 1, or 0 at the end of the input. */
static int key_next(EditLine *line, wchar_t *out)
{
    struct editor *e = editor_of(line);
    char byte;

    for (;;) {
        el_resize(line);
        if (*e->means != 0) {
            *out = (unsigned char)*e->means++;
            return 1;
        }
        if (!byte_read(e, &byte))
            return 0;
        if ((byte & 0x80) == 0 && byte < ' ')
            e->key_len = 0; /* a control byte ends a key that Escape began */
        if (mbsinit(&e->character) && (byte == ESCAPE || e->key_len > 0)) {
            escape_take(e, byte);
        } else if (character_take(e, byte, out)) {
            if (*out < ' ' || *out == '\177' || !line_full(e))
                return 1;
            el_beep(line);
        }
    }
}

/* ---- life --------------------------------------------------------------------------------- */

/* libedit takes the character set from the locale. */
static void locale_begin(struct editor *e)
{
    e->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (e->utf8 != (locale_t)0)
        e->before = uselocale(e->utf8);
}

static void locale_end(struct editor *e)
{
    if (e->utf8 == (locale_t)0)
        return;
    uselocale(e->before);
    freelocale(e->utf8);
}

static bool editor_open(struct editor *e)
{
    e->means = "";
    if (!history_file_open(&e->history, e->console->program) ||
        tcgetattr(STDIN_FILENO, &terminal) != 0)
        return false;
    e->line = el_init(e->console->program, stdin, stdout, stderr);
    if (e->line == NULL)
        return false;
    el_set(e->line, EL_CLIENTDATA, e);
    el_set(e->line, EL_PROMPT, prompt_of);
    el_set(e->line, EL_EDITOR, "emacs");
    el_set(e->line, EL_HIST, history, e->history.lines);
    el_wset(e->line, EL_GETCFN, key_next);
    el_set(e->line, EL_ADDFN, "choices", "Completes a word, or lists the choices", on_tab);
    el_set(e->line, EL_ADDFN, "choices-list", "Lists what may follow", on_question_mark);
    el_set(e->line, EL_ADDFN, "line-drop", "Drops the line", on_ctrl_c);
    for (size_t i = 0; i < sizeof bindings / sizeof bindings[0]; i++)
        el_set(e->line, EL_BIND, bindings[i].key, bindings[i].function, NULL);
    /* Also while a command runs, keys are kept as they come. */
    el_set(e->line, EL_SETTY, "-x", "-icanon", "-echo", "-iexten", NULL);
    return true;
}

static void editor_close(struct editor *e)
{
    if (e->line != NULL) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
        /* else el_end() would set the modes, too, and drop what has been typed since */
        el_set(e->line, EL_EDITMODE, 0);
        el_end(e->line);
    }
    history_file_close(&e->history);
}

static int editor_lines(struct editor *e)
{
    char line[2 * GRAMMAR_LINE_MAX];
    int code, len;
    const char *typed;

    for (;;) {
        e->dropped = false;
        typed = el_gets(e->line, &len);
        if (e->dropped)
            continue;
        if (typed == NULL)
            break;
        snprintf(line, sizeof line, "%s", typed); /* still too long for the grammar, if cut */
        len = (int)strlen(line);
        while (len > 0 && strchr(" \n", line[len - 1]) != NULL) /* completion adds blanks */
            line[--len] = 0;
        history_file_add(&e->history, line);
        fflush(stdout);
        code = e->run(e->console, line);
        if (e->console->quit || code == CONSOLE_GONE)
            return code == CONSOLE_GONE ? code : CONSOLE_OK;
    }
    putchar('\n');
    return CONSOLE_OK;
}

int editor_talk(struct console *c, int (*run)(struct console *c, const char *line))
{
    static const int numbers[] = {SIGINT, SIGCONT, SIGTERM, SIGHUP};
    struct sigaction mine = {.sa_handler = on_signal}, before[4];
    struct sigaction last = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    struct editor *e = calloc(1, sizeof *e);
    bool signals = c->stop_fd < 0; /* with a stop_fd, the program handles signals */
    int code = CONSOLE_LOCAL;

    if (e == NULL)
        return CONSOLE_LOCAL;
    e->console = c;
    e->run = run;
    locale_begin(e);
    if (editor_open(e)) {
        for (int i = 0; signals && i < 4; i++)
            sigaction(numbers[i], i < 2 ? &mine : &last, &before[i]);
        code = editor_lines(e);
        for (int i = 0; signals && i < 4; i++)
            sigaction(numbers[i], &before[i], NULL);
    } else {
        fprintf(stderr, "%s: this terminal cannot be used; pipe the commands in\n", c->program);
    }
    editor_close(e);
    locale_end(e);
    free(e);
    return code;
}
