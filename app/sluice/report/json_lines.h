/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer tells a program while it runs (--json-stream): one JSON object in a line, with a
 * key "event". summary_json() writes the last one, "end".
 *
 * A name is a string if it is UTF-8. Otherwise "name" is what a terminal would show of it, and
 * "name_hex" has its bytes.
 */
#ifndef SLUICE_COMMAND_JSON_LINES_H
#define SLUICE_COMMAND_JSON_LINES_H

#include <stdint.h>
#include <stdio.h>

struct json_progress {
    const char *name;     /* of the file that is being moved; "": none */
    double elapsed_s;     /* since the first event */
    uint64_t done_bytes;  /* holes, and what was there already, included */
    uint64_t total_bytes; /* 0: unknown */
    double rate_Bps;
    uint64_t repeats;
    const char *limit; /* what limits the transfer now; "" if that is not known */
};

/* The functions below do nothing if `out` is NULL. */

/* Also flushes what other events have left. */
void json_lines_progress(FILE *out, const struct json_progress *p);
/* A file has its place. */
void json_lines_file(FILE *out, const char *name, uint64_t bytes);
/* A file, directory or link has not, or not as it should. */
void json_lines_failed(FILE *out, const char *name, const char *cause);

#endif
