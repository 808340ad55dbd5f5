/* SPDX-License-Identifier: BSD-3-Clause */
/* See say.h. One write per line, so that lines of several threads do not mix. */
#include "common/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/line.h"
#include "base/utf8.h"
#include "common/utc.h"

#define MESSAGE_BYTES 1024
#define LINE_BYTES    4096

static const struct {
    const char *name, *text, *priority;
} levels[] = {
    [SAY_ERROR] = {"error", "error: ", "<3>"}, [SAY_WARNING] = {"warning", "warning: ", "<4>"},
    [SAY_NOTICE] = {"notice", "", "<5>"},      [SAY_INFO] = {"info", "", "<6>"},
    [SAY_DEBUG] = {"debug", "", "<7>"},
};

/* Set at the start, and at a reload; read by all threads. */
static struct {
    const char *program;
    int format; /* enum say_format */
    int level;  /* enum say_level */
} set = {"sluiced", SAY_TEXT, SAY_INFO};

void say_as(const char *program)
{
    set.program = program;
}

void say_set_format(enum say_format format)
{
    __atomic_store_n(&set.format, (int)format, __ATOMIC_RELAXED);
}

void say_set_level(enum say_level level)
{
    __atomic_store_n(&set.level, (int)level, __ATOMIC_RELAXED);
}

bool say_shows(enum say_level level)
{
    return (int)level <= __atomic_load_n(&set.level, __ATOMIC_RELAXED);
}

bool say_format_read(const char *name, enum say_format *out)
{
    *out = strcmp(name, "json") == 0 ? SAY_JSON : SAY_TEXT;
    return *out == SAY_JSON || strcmp(name, "text") == 0;
}

/* ---- parts of a line ---------------------------------------------------------------------- */

/* Does the journal read our stderr? (systemd.exec(5)) */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char text[48];
    struct line l = {text, text + sizeof text - 1};
    struct stat st;

    if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
        return false;
    line_number(&l, st.st_dev, 1);
    line_put(&l, ":");
    line_number(&l, st.st_ino, 1);
    *l.at = '\0';
    return strcmp(stream, text) == 0;
}

/* Appends text of others; quoted: within a JSON string. A sequence that does not fit is left out.
 */
static void put_shown(struct line *l, const char *text, bool quoted)
{
    const unsigned char *s = (const unsigned char *)text;

    while (*s != '\0') {
        size_t n = utf8_shown(s);
        bool escaped = quoted && (*s == '"' || *s == '\\');

        if (l->end - l->at < (ptrdiff_t)n + 1)
            break;
        if (escaped)
            *l->at++ = '\\';
        if (n == 0)
            *l->at++ = *s == '\n' || *s == '\t' ? ' ' : '?';
        memcpy(l->at, s, n);
        l->at += n;
        s += n > 0 ? n : 1;
    }
}

static void put_field(struct line *l, const char *name, const char *value)
{
    if (value == NULL)
        return;
    line_put(l, "\",\"");
    line_put(l, name);
    line_put(l, "\":\"");
    put_shown(l, value, true);
}

static void put_json(struct line *l, enum say_level level, const struct say_fields *fields,
                     const char *message)
{
    char time[UTC_TEXT_MAX];

    line_put(l, "{\"time\":\"");
    line_put(l, utc_text(time, 6));
    put_field(l, "level", levels[level].name);
    put_field(l, "program", set.program);
    if (fields != NULL) {
        put_field(l, "port", fields->port);
        put_field(l, "connection", fields->conn);
        put_field(l, "peer", fields->peer);
    }
    put_field(l, "message", message);
    memcpy(l->at, "\"}", 2); /* there is room: say_text() */
    l->at += 2;
}

static void put_text(struct line *l, enum say_level level, const struct say_fields *fields,
                     const char *message, bool journal)
{
    if (!journal) {
        line_put(l, set.program);
        line_put(l, ": ");
        line_put(l, levels[level].text);
    }
    if (fields != NULL && fields->port != NULL) {
        line_put(l, "port ");
        put_shown(l, fields->port, false);
        line_put(l, ": ");
    }
    put_shown(l, message, false);
}

/* ---- lines -------------------------------------------------------------------------------- */

void say_bytes(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

void say_text(enum say_level level, const struct say_fields *fields, const char *message)
{
    int error = errno;
    bool journal = is_journal();
    char text[LINE_BYTES];
    struct line l = {text, text + sizeof text - 3}; /* for the end of an object, and of the line */

    if (journal)
        line_put(&l, levels[level].priority);
    if (__atomic_load_n(&set.format, __ATOMIC_RELAXED) == SAY_JSON)
        put_json(&l, level, fields, message);
    else
        put_text(&l, level, fields, message, journal);
    *l.at++ = '\n';
    say_bytes(STDERR_FILENO, text, (size_t)(l.at - text));
    errno = error;
}

void say_line(enum say_level level, const struct say_fields *fields, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list ap;

    if (!say_shows(level))
        return;
    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    say_text(level, fields, message);
}
