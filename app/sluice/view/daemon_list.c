/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one of the daemon's lists, as JSON. See view.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sluice/view/view.h"

json_t *daemon_list(struct sluice *s, const char *source, json_t **rows, int *status, char *err,
                    size_t err_len)
{
    char *text = NULL;
    json_t *top;

    *status = sluice_show(s, source, &text);
    if (*status < 0) {
        snprintf(err, err_len, "%s", sluice_error(s));
        return NULL;
    }
    top = json_loads(text, 0, NULL);
    free(text);
    *rows = json_object_get(top, source);
    if (json_is_array(*rows))
        return top;
    *status = -EPROTO;
    snprintf(err, err_len,
             "invalid answer from the daemon; use the same version of sluice and sluiced");
    json_decref(top);
    return NULL;
}

json_t *daemon_rows(struct sluice *s, const char *source)
{
    char err[256];
    int status;
    json_t *rows, *top = daemon_list(s, source, &rows, &status, err, sizeof err);

    if (top == NULL)
        return NULL;
    json_incref(rows);
    json_decref(top);
    return rows;
}
