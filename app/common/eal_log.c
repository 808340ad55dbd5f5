/* SPDX-License-Identifier: BSD-3-Clause */
/* See eal_log.h. DPDK has checked the level of what comes here. */
#include "common/eal_log.h"

#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "common/say.h"

#define LINE_BYTES 1024

static enum say_level level_now(void)
{
    switch (rte_log_cur_msg_loglevel()) {
    case RTE_LOG_WARNING:
        return SAY_WARNING;
    case RTE_LOG_NOTICE:
        return SAY_NOTICE;
    case RTE_LOG_INFO:
        return SAY_INFO;
    case RTE_LOG_DEBUG:
        return SAY_DEBUG;
    default:
        return SAY_ERROR;
    }
}

/* Says each line of a message. */
static ssize_t log_write(void *cookie, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *feed = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((feed != NULL ? feed : end) - text);
        char line[LINE_BYTES];

        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), text);
        if (line[0] != '\0')
            say_text(level_now(), NULL, line);
        text += n + (feed != NULL);
    }
    return (ssize_t)len;
}

void eal_log_start(void)
{
    static FILE *stream; /* of the process: DPDK's threads may log until the end */

    if (stream != NULL)
        return;
    stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_write});
    if (stream == NULL)
        return;
    setvbuf(stream, NULL, _IONBF,
            0); /* a message arrives whole, on the thread that knows its level */
    rte_openlog_stream(stream);
}
