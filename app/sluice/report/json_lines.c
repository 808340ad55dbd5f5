/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transfer tells a program while it runs. See json_lines.h. */
#include "sluice/report/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "console/text.h"

static void lines_name(json_t *event, const char *name)
{
    size_t len = strlen(name), i;
    json_t *exact = json_stringn(name, len);
    char *text;

    if (exact != NULL) {
        json_object_set_new(event, "name", exact);
        return;
    }
    text = malloc(2 * len + 1);
    if (text == NULL)
        return;
    json_object_set_new(event, "name", json_string(text_safe(text, 2 * len + 1, name)));
    for (i = 0; i < len; i++)
        sprintf(text + 2 * i, "%02x", (unsigned int)(unsigned char)name[i]);
    json_object_set_new(event, "name_hex", json_string(text));
    free(text);
}

/* Writes the line. A stream that cannot be written is noticed when the summary is. */
static void lines_write(FILE *out, json_t *event)
{
    if (event == NULL)
        return;
    json_dumpf(event, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(event);
}

void json_lines_progress(FILE *out, const struct json_progress *p)
{
    json_t *event;

    if (out == NULL)
        return;
    event = json_pack("{ss sf sI sf sI}", "event", "progress", "elapsed_seconds", p->elapsed_s,
                      "bytes", (json_int_t)p->done_bytes, "rate_Bps", p->rate_Bps, "repeats",
                      (json_int_t)p->repeats);
    json_object_set_new(event, "total_bytes",
                        p->total_bytes > 0 ? json_integer((json_int_t)p->total_bytes)
                                           : json_null());
    json_object_set_new(event, "limit", p->limit[0] != 0 ? json_string(p->limit) : json_null());
    if (p->name[0] != 0)
        lines_name(event, p->name);
    lines_write(out, event);
    fflush(out);
}

void json_lines_file(FILE *out, const char *name, uint64_t bytes)
{
    json_t *event;

    if (out == NULL)
        return;
    event = json_pack("{ss sI}", "event", "file", "bytes", (json_int_t)bytes);
    lines_name(event, name);
    lines_write(out, event);
}

void json_lines_failed(FILE *out, const char *name, const char *cause)
{
    json_t *event;

    if (out == NULL)
        return;
    event = json_pack("{ss ss}", "event", "failed", "cause", cause);
    lines_name(event, name);
    lines_write(out, event);
}
