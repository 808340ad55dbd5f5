/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of text put together without the C library: a signal handler may be at it. What does not
 * fit is left out. */
#ifndef SLUICE_BASE_LINE_H
#define SLUICE_BASE_LINE_H

#include <stdint.h>

struct line {
    char *at, *end; /* where the next byte goes; none goes to end or beyond */
};

static inline void line_put(struct line *l, const char *s)
{
    while (*s != '\0' && l->at < l->end)
        *l->at++ = *s++;
}

/* In decimal, with zeros in front up to this width. */
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
