/* SPDX-License-Identifier: BSD-3-Clause */
/* See box.h. */
#include "emu/box.h"

#include <stdio.h>

int box_set(struct box *b, unsigned int i, const char *spec, char *err, size_t err_len)
{
    int rc = cable_set(b->cable, i, spec, err, err_len);

    if (rc == 0)
        snprintf(b->spec[i], sizeof b->spec[i], "%s", spec);
    return rc;
}
