/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for people on stderr, and the exit codes of the command. */
#include "sluice/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Global, since the process has one stderr. */
static bool bar_shown;
static void (*divert_line)(void *context, bool error, const char *text);
static void *divert_context;

static void say_line(bool error, const char *format, va_list args)
{
    char line[2048];

    vsnprintf(line, sizeof line, format, args);
    if (divert_line != NULL) {
        divert_line(divert_context, error, line);
        return;
    }
    fprintf(stderr, "%ssluice: %s\n", bar_shown ? "\r\033[K" : "", line);
    bar_shown = false;
}

int say_error(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(true, format, args);
    va_end(args);
    return code;
}

void say_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_line(false, format, args);
    va_end(args);
}

void say_divert(void (*line)(void *context, bool error, const char *text), void *context)
{
    divert_line = line;
    divert_context = context;
}

void say_bar(const char *text)
{
    if (*text == 0 && !bar_shown)
        return;
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    bar_shown = *text != 0;
}

int say_code(int status, bool opened)
{
    switch (status) {
    case 0:
        return SAY_OK;
    case -EINVAL:
        return opened ? SAY_TRANSFER : SAY_USAGE;
    case -ENOTCONN:
        return SAY_DAEMON;
    case -ENOMEM:
    case -EDQUOT:
    case -EUSERS:
    case -EMFILE:
    case -ENFILE:
    case -ENOSPC:
    case -EADDRINUSE:
    case -EBUSY:
    case -EAGAIN:
        return SAY_RESOURCE;
    default:
        return opened ? SAY_TRANSFER : SAY_PEER;
    }
}

int say_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return SAY_OK;
    if (errno == EPIPE)
        return SAY_LOCAL; /* the reader, as in `| head`, has seen enough: no message */
    return say_error(SAY_LOCAL, "standard output: %s; make room or write elsewhere",
                     strerror(errno));
}
