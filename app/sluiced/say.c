/* SPDX-License-Identifier: BSD-3-Clause */
/* See say.h. One write per line, so that lines of several threads do not mix. */
#include "sluiced/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void say(const char *format, ...)
{
    static const char head[] = "sluiced: ";
    char line[1024];
    va_list ap;
    int len;

    memcpy(line, head, sizeof head - 1);
    va_start(ap, format);
    len = vsnprintf(line + sizeof head - 1, sizeof line - sizeof head, format, ap);
    va_end(ap);
    if (len < 0)
        return;
    len += (int)sizeof head - 1;
    if (len > (int)sizeof line - 2)
        len = (int)sizeof line - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* nobody to tell */
}
