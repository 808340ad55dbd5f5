/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon shows, as people see it: tables of chosen columns, or its own JSON. */
#ifndef SLUICE_COMMAND_VIEW_H
#define SLUICE_COMMAND_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "client/sluice.h"
#include "console/words.h"

struct view;

/* What the daemon lists under that name, to json_decref(); *rows, an array, are in it. NULL with a
 * line in err and a negative errno in *status. */
json_t *view_list(struct sluice *s, const char *source, json_t **rows, int *status, char *err,
                  size_t err_len);

/* NULL if nobody knows it. */
const struct view *view_find(const char *name);
/* The names of all, with ", " between, into out: for messages. */
#define VIEW_NAMES_MAX 256
const char *view_names(char *out, size_t out_len);

/* view_path.c: a list, as above, of the paths of open connections. */
json_t *view_path(struct sluice *s, json_t **rows, int *status, char *err, size_t err_len);

/* Rows to leave out: of other ports (name or number; NULL: none), of other connections. */
struct view_filter {
    const char *port;
    const struct words_conn *conn;
};

/* Prints it, to stdout: 0, -ENOENT: the filter leaves nothing, another negative errno: the
 * daemon's. A line in err. */
int view_print(const struct view *v, struct sluice *s, const struct view_filter *filter, bool json,
               char *err, size_t err_len);

/* For completion: what the member of the rows is, each. */
void view_values(struct sluice *s, const char *view, const char *member,
                 void (*found)(void *ctx, const char *value), void *ctx);

#endif
