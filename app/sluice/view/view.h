/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of the daemon, as people see them: tables of chosen columns, or the daemon's own JSON. */
#ifndef SLUICE_COMMAND_VIEW_H
#define SLUICE_COMMAND_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "client/sluice.h"
#include "console/words.h"

struct view;

/* The daemon's list named `source`, on which the caller calls json_decref(). *rows is the array in
 * it. NULL, with a line in err and a negative errno in *status, if it cannot be had. */
json_t *daemon_list(struct sluice *s, const char *source, json_t **rows, int *status, char *err,
                    size_t err_len);
/* The array alone, on which the caller calls json_decref(); NULL: it cannot be had. */
json_t *daemon_rows(struct sluice *s, const char *source);

/* The view of that name; NULL: there is none. */
const struct view *view_find(const char *name);
/* Writes the names of all views, with ", " between, to out: for messages. */
#define VIEW_NAMES_MAX 256
const char *view_names(char *out, size_t out_len);

/* path_rows.c: the paths of open connections, in the form of daemon_list(). */
json_t *path_rows(struct sluice *s, json_t **rows, int *status, char *err, size_t err_len);

/* Which rows to keep: those of one port (name or number), of one connection; NULL: of all. */
struct view_filter {
    const char *port;
    const struct words_conn *conn;
};

/* Prints the view to stdout. 0, or a negative errno with a line in err. -ENOENT: the filter leaves
 * no rows; any other is the daemon's. */
int view_print(const struct view *v, struct sluice *s, const struct view_filter *filter, bool json,
               char *err, size_t err_len);

/* For completion: calls found() with the value of `member` in each row. */
void view_values(struct sluice *s, const char *view, const char *member,
                 void (*found)(void *ctx, const char *value), void *ctx);

#endif
