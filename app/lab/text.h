/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of one experiment: sections of keys, each of which is asked for by the part that it
 * describes.
 *
 *   [kind name]
 *   key = value   # comment; \# is a #
 *
 * Errors are sticky: the first one is kept, as "FILE:LINE: [section] key: cause; cure", and what is
 * asked for after it gets its default; text_right() says so once at the end, and names what nobody
 * has asked for. Invariant: all pointers are into the buffer that text_read() was given.
 */
#ifndef LAB_TEXT_H
#define LAB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LINES_MAX 8192u
#define TEXT_ERR_MAX   512u

struct text_line {
    const char *section; /* "kind name" */
    const char *key;     /* NULL: the line of the section itself */
    const char *value;
    uint32_t number;
    bool asked;
};

struct text {
    const char *file; /* for messages */
    struct text_line lines[TEXT_LINES_MAX];
    uint32_t n;
    const char *keys[TEXT_LINES_MAX]; /* that were ever asked for, to suggest one */
    uint32_t n_keys;
    char err[TEXT_ERR_MAX]; /* "": none so far */
};

/* Reads the buffer, which it changes and refers to, and which ends with a 0. */
void text_read(struct text *t, const char *file, char *buffer);
/* Whether all was well so far and nothing was left over; else t->err says what was not. */
bool text_right(struct text *t);
/* The i-th section of a kind ("host" of "[host a]"); NULL after the last. */
const char *text_section(struct text *t, const char *kind, uint32_t i);
/* The name in "kind name"; "" if there is none. */
const char *text_name(const char *section);
/* Says what is wrong with a key, if nothing has been wrong before. */
__attribute__((format(printf, 4, 5))) void text_wrong(struct text *t, const char *section,
                                                      const char *key, const char *format, ...);

/* What a key says; fallback where it is not there, which NULL forbids. */
const char *text_word(struct text *t, const char *section, const char *key, const char *fallback);
/* The same as a value of base/value.h; in B/s, bytes, ns. */
uint64_t text_rate(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_size(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_time(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_number(struct text *t, const char *section, const char *key, const char *fallback,
                     uint64_t min, uint64_t max);
bool text_yes(struct text *t, const char *section, const char *key, const char *fallback);
/* Which of the words it is; they end with NULL. */
uint32_t text_choice(struct text *t, const char *section, const char *key, const char *fallback,
                     const char *const *words);
/* "from" and "to" of a [kind name]: two of the names, [host NAME], which differ. */
void text_ends(struct text *t, const char *section, const char *const *names, uint32_t n,
               uint32_t *from, uint32_t *to);
/* Numbers with white space between them, at most max, which are returned in out; how many. */
uint32_t text_reals(struct text *t, const char *section, const char *key, const char *fallback,
                    double *out, uint32_t max);

#endif
