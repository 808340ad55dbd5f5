/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows a broken invariant: one line on stderr, then abort(). */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *expr)
{
    fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expr);
    fflush(stderr);
    abort();
}
