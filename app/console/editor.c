/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The console on a terminal. rdline of rte_cmdline reads lines and keeps their history; the grammar
 * completes words. rdline knows the keys of a VT100, and no characters but ASCII.
 */
#define ALLOW_EXPERIMENTAL_API /* rdline_new(), which has been there since 21.11 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline_rdline.h>

#include "console/choices.h"
#include "console/console.h"

#define LINE_BYTES 512 /* rdline drops what is beyond so many bytes; later releases take more */
#define KEY_BYTES  8   /* of the longest key sequence that `keys` may have */
#define CTRL_C     3
#define CTRL_R     18
#define CTRL_U     21
#define ESCAPE     27

struct editor {
    struct console *console;
    int (*run)(struct console *c, const char *line);
    struct rdline *line;
    struct choices choices;
    bool foreign; /* the line had bytes that rdline does not take */
    bool mute;
    char key[KEY_BYTES + 1]; /* the part of a key sequence that has come */
    size_t key_len;
    /* Backward search in history for what was typed. */
    bool seeking;
    unsigned seek_from;
    char sought[LINE_BYTES + 2];
};

/* Keys of more than one byte: what terminals send, and what rdline understands instead. */
static const struct {
    const char *key, *means;
} keys[] = {
    {"\033[A", "\033[A"},   {"\033OA", "\033[A"},   {"\033[B", "\033[B"},     {"\033OB", "\033[B"},
    {"\033[C", "\033[C"},   {"\033OC", "\033[C"},   {"\033[D", "\033[D"},     {"\033OD", "\033[D"},
    {"\033[H", "\001"},     {"\033OH", "\001"},     {"\033[1~", "\001"},      {"\033[7~", "\001"},
    {"\033[F", "\005"},     {"\033OF", "\005"},     {"\033[4~", "\005"},      {"\033[8~", "\005"},
    {"\033[3~", "\033[3~"}, {"\033[1;5D", "\033b"}, {"\033[1;5C", "\033f"},   {"\033b", "\033b"},
    {"\033f", "\033f"},     {"\033d", "\033d"},     {"\033\177", "\033\177"},
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

/* ---- rdline's calls ----------------------------------------------------------------------- */

static int char_write(struct rdline *line, char c)
{
    const struct editor *e = rdline_get_opaque(line);

    return e->mute ? 0 : putchar(c);
}

/* Does nothing: a line is executed after rdline_char_in() has returned, when rdline may be called
 * again. */
static void line_valid(struct rdline *line, const char *text, unsigned size)
{
}

static int word_complete(struct rdline *line, const char *text, char *more, unsigned more_len,
                         int *state)
{
    struct editor *e = rdline_get_opaque(line);
    struct choices *ch = &e->choices;

    choices_find(ch, e->console, text);
    if (ch->n == 0 && ch->hints[0] == 0) {
        putchar('\a');
        return 0;
    }
    choices_more(ch, more, more_len);
    if (*state >= 0 && more[0] != 0) /* the key was Tab, not a question mark */
        return RDLINE_RES_COMPLETE;
    choices_print(ch);
    rdline_redisplay(line);
    return 0;
}

/* ---- history ------------------------------------------------------------------------------ */

static void history_add(struct editor *e, const char *line)
{
    const char *last = rdline_get_history_item(e->line, 0);
    size_t len = strcspn(line, "\n");

    if (line[strspn(line, " \t\r\n")] == 0 ||
        (last != NULL && strncmp(last, line, len) == 0 && last[len] == 0))
        return;
    rdline_add_history(e->line, line);
}

/* Shows the next older line that contains what was typed. */
static void history_seek(struct editor *e)
{
    const char *found;
    char text[LINE_BYTES + 2];

    if (!e->seeking) {
        snprintf(e->sought, sizeof e->sought, "%s", rdline_get_buffer(e->line));
        e->sought[strcspn(e->sought, "\n")] = 0;
        e->seek_from = 0;
        e->seeking = true;
    }
    do
        found = rdline_get_history_item(e->line, e->seek_from++);
    while (found != NULL && strstr(found, e->sought) == NULL);
    if (found == NULL) {
        e->seeking = false; /* the next search begins at the newest line again */
        putchar('\a');
        return;
    }
    snprintf(text, sizeof text, "%s", found);
    e->mute = true;
    rdline_reset(e->line);
    for (const char *c = text; *c != 0; c++)
        rdline_char_in(e->line, *c);
    e->mute = false;
    rdline_redisplay(e->line);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Makes the terminal deliver each key at once; leaves its signals and its output as they are. */
static bool terminal_raw(void)
{
    struct termios raw = terminal;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

/* Waits for a byte. False if the input has ended, or the console is to end. */
static bool byte_read(const struct editor *e, char *byte)
{
    for (;;) {
        struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = e->console->stop_fd, .events = POLLIN}};

        fflush(stdout);
        if (interrupted != 0) {
            interrupted = 0;
            fputs("^C", stdout);
            *byte = CTRL_C;
            return true;
        }
        if (resumed != 0) {
            resumed = 0;
            terminal_raw();
            rdline_redisplay(e->line);
            continue;
        }
        if (poll(p, 2, -1) >= 0)
            return p[1].revents == 0 && read(STDIN_FILENO, byte, 1) == 1;
        if (errno != EINTR)
            return false;
    }
}

static int bytes_in(struct editor *e, const char *bytes, size_t len)
{
    int rc = RDLINE_RES_SUCCESS;

    for (size_t i = 0; i < len; i++)
        rc = rdline_char_in(e->line, bytes[i]);
    return rc;
}

/* Is `last` the last byte of a key that begins with Escape (ECMA-48, 5.4, and the keypad's)? */
static bool key_whole(const struct editor *e, char last)
{
    if (e->key_len == 2)
        return last != '[' && last != 'O';
    return e->key_len > 2 && (e->key[1] == 'O' || last >= '@');
}

/* Takes the bytes of keys that begin with Escape. rdline_char_in() would take the last byte of an
 * unknown key for text. */
static int escape_in(struct editor *e, char byte)
{
    if (e->key_len < KEY_BYTES)
        e->key[e->key_len++] = byte;
    else
        e->key[0] = 0; /* too long to be known */
    if (!key_whole(e, byte))
        return RDLINE_RES_SUCCESS;
    e->key[e->key_len] = 0;
    e->key_len = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].key, e->key) == 0)
            return bytes_in(e, keys[i].means, strlen(keys[i].means));
    putchar('\a');
    return RDLINE_RES_SUCCESS;
}

/* Like rdline_char_in(), with more keys. */
static int key_in(struct editor *e, char byte)
{
    if ((byte & 0x80) != 0) {
        e->foreign = true;
        putchar('\a');
        return RDLINE_RES_SUCCESS;
    }
    if (byte < ' ')
        e->key_len = 0; /* a control byte ends a key that Escape began */
    if (byte == CTRL_R) {
        history_seek(e);
        return RDLINE_RES_SUCCESS;
    }
    e->seeking = false;
    if (byte == ESCAPE || e->key_len > 0)
        return escape_in(e, byte);
    if (byte == CTRL_U) { /* erases all of the line */
        e->foreign = false;
        return bytes_in(e, "\001\013", 2);
    }
    return rdline_char_in(e->line, byte);
}

/* ---- life --------------------------------------------------------------------------------- */

static bool editor_open(struct editor *e)
{
    e->line = rdline_new(char_write, line_valid, word_complete, e);
    return e->line != NULL && tcgetattr(STDIN_FILENO, &terminal) == 0 && terminal_raw();
}

static void editor_close(struct editor *e)
{
    if (e->line != NULL)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
    rdline_free(e->line);
}

/* Executes the line in rdline's buffer, unless rdline has dropped a part of what was typed. */
static int line_do(struct editor *e)
{
    char line[GRAMMAR_LINE_MAX + 1];

    snprintf(line, sizeof line, "%s", rdline_get_buffer(e->line));
    history_add(e, line);
    if (strcspn(line, "\n") >= LINE_BYTES)
        fprintf(stderr, "%s: a line longer than %d bytes; put it into a file, and load the file\n",
                e->console->program, LINE_BYTES - 1);
    else if (e->foreign)
        fprintf(stderr,
                "%s: only ASCII can be typed; complete other file names with Tab, or put the line "
                "into a file, and load the file\n",
                e->console->program);
    else
        return e->run(e->console, line);
    return CONSOLE_WORDS;
}

static int editor_lines(struct editor *e)
{
    int code = CONSOLE_OK;
    char byte;

    rdline_newline(e->line, e->console->prompt);
    while (byte_read(e, &byte)) {
        int rc = key_in(e, byte);

        if (rc == RDLINE_RES_EOF)
            break;
        if (byte == CTRL_C)
            e->foreign = false;
        if (rc != RDLINE_RES_VALIDATED)
            continue;
        fflush(stdout);
        code = line_do(e);
        e->foreign = false;
        if (e->console->quit || code == CONSOLE_GONE)
            return code == CONSOLE_GONE ? code : CONSOLE_OK;
        rdline_newline(e->line, e->console->prompt);
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
    free(e);
    return code;
}
