/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others that is to be shown: which bytes are fit for a terminal or a log. */
#ifndef SLUICE_BASE_UTF8_H
#define SLUICE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Is this byte not the first of its character? */
static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Length of the UTF-8 sequence at s that is fit to be shown; 0: none starts here. s ends with a 0
 * byte. */
static inline size_t utf8_shown(const unsigned char *s)
{
    size_t n, i;
    uint32_t code;

    if (s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
        : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
        : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                      : 0;
    if (n == 0)
        return 0;
    code = s[0] & (0x7f >> n);
    for (i = 1; i < n; i++) {
        if (!utf8_continues((char)s[i]))
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    /* Refuses overlong forms, surrogates, C1 controls, line separators, and marks that turn a
     * line's direction. */
    if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code < 0xe000) || code < 0xa0 || (code >= 0x2028 && code <= 0x202e) ||
        (code >= 0x2066 && code <= 0x2069))
        return 0;
    return n;
}

/* Copies text with a '?' in place of each byte that is not fit to be shown, cut between characters
 * to out_len - 1 bytes. out_len > 0. Returns out. */
static inline char *utf8_safe(char *out, size_t out_len, const char *text)
{
    size_t used = 0;

    while (*text != 0) {
        size_t fit = utf8_shown((const unsigned char *)text), n = fit > 0 ? fit : 1;

        if (used + n >= out_len)
            break;
        if (fit > 0)
            memcpy(out + used, text, n);
        else
            out[used] = '?';
        used += n;
        text += n;
    }
    out[used] = 0;
    return out;
}

#endif
