/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a line of text without the C library, so that a signal handler may do it. Text that does
 * not fit is left out. */
#ifndef SLUICE_BASE_LINE_H
#define SLUICE_BASE_LINE_H

#include <stdint.h>

struct line {
    char *at, *end; /* the next byte goes to `at`; no byte goes to `end` or beyond */
};

static inline void line_put(struct line *l, const char *s)
{
    while (*s != '\0' && l->at < l->end)
        *l->at++ = *s++;
}

/* Appends n in decimal, with leading zeros up to `width` digits. */
static inline void line_number(struct line *l, uint64_t n, int width)
{
    char digits[32], *d = digits + sizeof digits - 1;

    *d = '\0';
    do {
        *--d = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0 || (digits + sizeof digits - 1 - d < width && d > digits));
    line_put(l, d);
}

#endif
