/* SPDX-License-Identifier: BSD-3-Clause */
/* See terminal.h. */
#include "sluice/view/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "sluice/loop.h"
#include "sluice/say.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l" /* alternate screen, no cursor, no wrapping */
#define LEAVE "\033[?7h\033[?25h\033[?1049l\033[0m"

/* Global, since a signal handler gets no context. */
static struct termios before;
static volatile sig_atomic_t taken, end_signal, redraw;
static int wake[2] = {-1, -1};

/* Signal handlers call this and the next two functions, which therefore use only async-signal-safe
 * calls: write(), poll(), tcsetattr(). */
static void terminal_put(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);

        if (n > 0) {
            text += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

            if (poll(&p, 1, 1000) == 0)
                return;
        } else if (n == 0 || errno != EINTR) {
            return;
        }
    }
}

static void terminal_take(void)
{
    struct termios raw = before;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    terminal_put(ENTER, sizeof ENTER - 1);
    taken = 1;
}

static void terminal_give(void)
{
    if (!taken)
        return;
    taken = 0;
    terminal_put(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

/* ---- signals ----------------------------------------------------------------------------- */

static void terminal_wake(void)
{
    if (write(wake[1], "", 1) < 0)
        redraw = 1; /* the pipe is full, so terminal_key() wakes up anyway */
}

/* Restores the terminal, then lets the signal act as if it had not been caught. */
static void die_of(int number)
{
    sigset_t one;

    terminal_give();
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* The first signal asks to end; the second ends the process at once, even while it waits for a
 * daemon that does not answer. */
static void on_end(int number)
{
    int saved = errno;

    if (end_signal != 0)
        die_of(number);
    end_signal = number;
    terminal_wake();
    errno = saved;
}

static void on_stop(int number)
{
    struct sigaction again = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    int saved = errno;

    die_of(number); /* returns after SIGCONT */
    sigaction(number, &again, NULL);
    errno = saved;
}

static void on_continue(int number)
{
    int saved = errno;

    if (tcgetpgrp(STDIN_FILENO) == getpgrp())
        terminal_take();
    redraw = 1;
    terminal_wake();
    errno = saved;
}

static void on_resize(int number)
{
    int saved = errno;

    redraw = 1;
    terminal_wake();
    errno = saved;
}

static void terminal_signals(void)
{
    static const struct {
        int number;
        void (*handler)(int number);
    } all[] = {
        {SIGINT, on_end},       {SIGTERM, on_end},     {SIGHUP, on_end},   {SIGTSTP, on_stop},
        {SIGCONT, on_continue}, {SIGWINCH, on_resize}, {SIGQUIT, die_of},  {SIGABRT, die_of},
        {SIGSEGV, die_of},      {SIGBUS, die_of},      {SIGFPE, die_of},   {SIGILL, die_of},
        {SIGALRM, die_of},      {SIGTTOU, SIG_IGN},    {SIGPIPE, SIG_IGN},
    };
    size_t i;

    for (i = 0; i < sizeof all / sizeof *all; i++) {
        struct sigaction a = {.sa_handler = all[i].handler, .sa_flags = SA_RESTART};

        sigaction(all[i].number, &a, NULL);
    }
}

/* ---- the page ---------------------------------------------------------------------------- */

int terminal_open(void)
{
    const char *kind = getenv("TERM");

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return say_error(SAY_USAGE,
                         "top: standard input and output are not a terminal; add --once");
    if (kind == NULL || *kind == 0 || strcmp(kind, "dumb") == 0)
        return say_error(SAY_USAGE,
                         "top: this terminal cannot move its cursor (TERM=%s); add --once",
                         kind != NULL ? kind : "");
    if (tcgetattr(STDIN_FILENO, &before) != 0 || pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return say_error(SAY_LOCAL, "top: the terminal cannot be used: %s; add --once",
                         strerror(errno));
    terminal_signals();
    atexit(terminal_give);
    terminal_take();
    return SAY_OK;
}

void terminal_close(void)
{
    terminal_give();
}

bool terminal_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool terminal_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return no == NULL || *no == 0;
}

void terminal_size(unsigned *rows, unsigned *columns)
{
    struct winsize w;
    bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0;

    *rows = told ? w.ws_row : 24;
    *columns = told ? w.ws_col : 80;
}

int terminal_signal(void)
{
    return end_signal;
}

/* Reads the sequence after an escape byte; without one, the key was Escape. */
static int terminal_sequence(void)
{
    static const struct {
        const char *text;
        int key;
    } all[] = {
        {"[A", TERMINAL_UP},         {"[B", TERMINAL_DOWN},  {"OA", TERMINAL_UP},
        {"OB", TERMINAL_DOWN},       {"[H", TERMINAL_HOME},  {"[F", TERMINAL_END},
        {"OH", TERMINAL_HOME},       {"OF", TERMINAL_END},   {"[5~", TERMINAL_PAGE_UP},
        {"[6~", TERMINAL_PAGE_DOWN}, {"[1~", TERMINAL_HOME}, {"[4~", TERMINAL_END},
    };
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char text[8];
    size_t n = 0, i;

    while (n < sizeof text - 1 && poll(&p, 1, 20) > 0 && read(STDIN_FILENO, text + n, 1) == 1) {
        n++;
        if (n > 1 && text[n - 1] >= '@')
            break;
    }
    text[n] = 0;
    for (i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(text, all[i].text) == 0)
            return all[i].key;
    return n == 0 ? TERMINAL_ESCAPE : TERMINAL_NONE;
}

int terminal_key(uint64_t until_ns)
{
    for (;;) {
        struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = wake[0], .events = POLLIN}};
        uint64_t now = loop_now();
        uint64_t left_ms = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;
        unsigned char c;
        char sink[16];

        if (end_signal != 0)
            return TERMINAL_STOP;
        if (redraw) {
            redraw = 0;
            return TERMINAL_DRAW;
        }
        if (poll(p, 2, left_ms < 3600000 ? (int)left_ms : 3600000) <= 0) {
            if (loop_now() >= until_ns)
                return TERMINAL_NONE;
            continue;
        }
        if (p[1].revents != 0 && read(wake[0], sink, sizeof sink) > 0)
            continue;
        if (p[0].revents == 0)
            continue;
        if (read(STDIN_FILENO, &c, 1) == 1)
            return c == 033 ? terminal_sequence() : c;
        if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            return TERMINAL_STOP;
    }
}

bool terminal_show(const char *page, size_t len)
{
    char *text = NULL;
    size_t text_len, i;
    FILE *f = open_memstream(&text, &text_len);

    if (f == NULL)
        return false;
    fputs("\033[H", f);
    for (i = 0; i < len; i++) {
        if (page[i] == '\n')
            fputs("\033[K\r\n", f);
        else
            fputc(page[i], f);
    }
    fputs("\033[K\033[J", f);
    fclose(f);
    terminal_put(text, text_len);
    free(text);
    return isatty(STDOUT_FILENO);
}
