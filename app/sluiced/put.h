/* SPDX-License-Identifier: BSD-3-Clause */
/* Values into JSON objects, as all that the daemon shows has them. */
#ifndef SLUICED_PUT_H
#define SLUICED_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "sluice/text.h"

#define PUT_TEXT_MAX 512 /* of what is not UTF-8 */

/* Also of a text with bytes that JSON does not take, such as those of a file that was refused. */
static inline json_t *put_string(const char *text)
{
    char safe[PUT_TEXT_MAX];
    json_t *s = json_string(text);

    return s != NULL ? s : json_string(text_safe(safe, sizeof safe, text));
}

/* The same as text, with its quotes, to free(). */
static inline char *put_quoted(const char *text)
{
    json_t *s = put_string(text);
    char *quoted = json_dumps(s, JSON_ENCODE_ANY);

    json_decref(s);
    return quoted;
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
