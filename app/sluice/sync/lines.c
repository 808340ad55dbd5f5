/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a file of patterns or names. See lines.h. */
#include "sluice/sync/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/say.h"

int lines_read(const char *path, const char *(*take)(void *context, const char *line),
               void *context)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    const char *wrong = NULL;
    char *line = NULL, safe[256];
    size_t size = 0;

    text_safe(safe, sizeof safe, path);
    if (in == NULL)
        return say_error(SAY_LOCAL, "%s: %s; name a file that can be read", safe, strerror(errno));
    while (wrong == NULL && getline(&line, &size, in) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] != 0 && line[0] != '#' && line[0] != ';')
            wrong = take(context, line);
    }
    free(line);
    if (wrong == NULL && ferror(in))
        wrong = "it cannot be read to its end; name a file, and check the disk";
    if (in != stdin)
        fclose(in);
    return wrong == NULL ? SAY_OK : say_error(SAY_USAGE, "%s: %s", safe, wrong);
}
