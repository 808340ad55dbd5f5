/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for people and their log readers: whole lines on stderr, each with a level.
 *
 *   text:     PROGRAM: MESSAGE, with "error: " or "warning: " before such a message
 *   JSON:     one object: time (UTC), level, program, message, and the fields that are known
 *   journal:  either of them behind <PRIORITY> of sd-daemon(3), text without the program's name,
 *             which the journal adds. JOURNAL_STREAM tells that stderr is the journal.
 *
 * Bytes that are not fit to be shown become '?', and line feeds become blanks. Any thread may call
 * these functions.
 */
#ifndef COMMON_SAY_H
#define COMMON_SAY_H

#include <stdbool.h>
#include <stddef.h>

enum say_level { SAY_ERROR, SAY_WARNING, SAY_NOTICE, SAY_INFO, SAY_DEBUG };

enum say_format { SAY_TEXT, SAY_JSON };

/* What a line is about; NULL: nothing, or not known. In text, "port NAME: " stands before the
 * message, which names the others itself. */
struct say_fields {
    const char *port;
    const char *conn; /* PORT/WORKER/NUMBER */
    const char *peer; /* its address */
};

/* Sets the program's name; "sluiced" by default. The text is not copied, so it must stay valid. */
void say_as(const char *program);
void say_set_format(enum say_format format);
/* From here on, say_line() leaves lines out that matter less; SAY_INFO at first. */
void say_set_level(enum say_level level);
bool say_shows(enum say_level level);
/* Reads "text" or "json". False: it is neither. */
bool say_format_read(const char *name, enum say_format *out);

__attribute__((format(printf, 3, 4))) void
say_line(enum say_level level, const struct say_fields *fields, const char *format, ...);
#define say(level, ...) say_line((level), NULL, __VA_ARGS__)
#define say_port(level, name, ...)                                                                 \
    say_line((level), &(const struct say_fields){.port = (name)}, __VA_ARGS__)

/* Says the message whatever its level is. A signal handler may call this. */
void say_text(enum say_level level, const struct say_fields *fields, const char *message);
/* Writes all bytes, or as many as fd takes. A signal handler may call this. */
void say_bytes(int fd, const char *bytes, size_t len);

/* Exit codes, as in sluiced(8) and sluice-emu(8). */
enum say_exit {
    EXIT_OK = 0,
    EXIT_FAULT = 1,  /* ran, but did not end as it should */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_CONFIG = 3, /* the configuration file is wrong */
    /* the EAL lacks rights, hugepages, memory or lcores, or its file prefix is in use */
    EXIT_EAL = 4,
    EXIT_PORT = 5,   /* a port is not there, or cannot do what is configured */
    EXIT_SOCKET = 6, /* the socket is in use or cannot be made */
};

#endif
