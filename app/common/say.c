/* SPDX-License-Identifier: BSD-3-Clause */
/* See say.h. One write per line, so that lines of several threads do not mix. */
#include "common/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char *speaker = "sluiced";

void say_as(const char *program)
{
    speaker = program;
}

void say(const char *format, ...)
{
    char line[1024];
    va_list ap;
    int head = snprintf(line, sizeof line / 2, "%s: ", speaker), len;

    va_start(ap, format);
    len = vsnprintf(line + head, sizeof line - 1 - (size_t)head, format, ap);
    va_end(ap);
    if (len < 0)
        return;
    len += head;
    if (len > (int)sizeof line - 2)
        len = (int)sizeof line - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* stderr is gone */
}
