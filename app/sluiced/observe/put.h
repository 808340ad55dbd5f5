/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts values into JSON objects or JSON text, for all that the daemon shows. */
#ifndef SLUICED_PUT_H
#define SLUICED_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "console/text.h"

#define PUT_TEXT_MAX 512 /* a text that is not UTF-8 is cut to so many bytes */

/* A text as a JSON string. Bytes that JSON does not take become '?': an error message may quote
 * such bytes from a configuration file. */
static inline json_t *put_string(const char *text)
{
    char safe[PUT_TEXT_MAX];
    json_t *s = json_string(text);

    return s != NULL ? s : json_string(text_safe(safe, sizeof safe, text));
}

/* A text as JSON text, with quotes and escapes; to free(). NULL: no memory. */
static inline char *put_quoted(const char *text)
{
    json_t *s = put_string(text);
    char *quoted = json_dumps(s, JSON_ENCODE_ANY);

    json_decref(s);
    return quoted;
}

/* JSON written as text: making objects for thousands of rows would take too long. */
struct put_file {
    FILE *f;
    char *text;
    size_t len;
};

/* False: no memory. */
static inline bool put_file_open(struct put_file *p)
{
    *p = (struct put_file){.text = NULL};
    p->f = open_memstream(&p->text, &p->len);
    return p->f != NULL;
}

/* Closes the file. Returns the text, to free(), or NULL: no memory. */
static inline char *put_file_text(struct put_file *p)
{
    if (fclose(p->f) == 0)
        return p->text;
    free(p->text);
    return NULL;
}

/* Closes the file. Returns its text as an object, or NULL. */
static inline json_t *put_file_json(struct put_file *p)
{
    char *text = put_file_text(p);
    json_t *o = text != NULL ? json_loads(text, 0, NULL) : NULL;

    free(text);
    return o;
}

static inline void put_count(json_t *o, const char *name, uint64_t n)
{
    json_object_set_new(o, name, json_integer((json_int_t)n));
}

static inline void put_text(json_t *o, const char *name, const char *text)
{
    json_object_set_new(o, name, put_string(text));
}

static inline void put_flag(json_t *o, const char *name, bool flag)
{
    json_object_set_new(o, name, json_boolean(flag));
}

#endif
