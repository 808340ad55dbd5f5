/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of one experiment: sections of keys. Each part of the program asks for the keys that
 * describe it.
 *
 *   [kind name]
 *   key = value   # comment; \# is a #
 *
 * Errors are sticky: the first one is kept, as "FILE:LINE: [section] key: cause; cure". Requests
 * after it still return a value. text_right() reports it at the end, or else a key that no part has
 * asked for. Invariant: all pointers are into the buffer that text_read() was given.
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
    /* keys that were ever asked for, to suggest the nearest one */
    const char *keys[TEXT_LINES_MAX];
    uint32_t n_keys;
    char err[TEXT_ERR_MAX]; /* "": none so far */
};

/* Reads the buffer, which ends with a 0. Changes the buffer, and keeps pointers into it. */
void text_read(struct text *t, const char *file, char *buffer);
/* True if there was no error and no line was left over; else t->err says what was wrong. */
bool text_right(struct text *t);
/* The i-th section of a kind ("host" of "[host a]"); NULL after the last. */
const char *text_section(struct text *t, const char *kind, uint32_t i);
/* The name in "kind name"; "" if there is none. */
const char *text_name(const char *section);
/* Keeps an error about a key, unless there is one already. */
__attribute__((format(printf, 4, 5))) void text_wrong(struct text *t, const char *section,
                                                      const char *key, const char *format, ...);

/* The value of a key, or fallback where the key is missing; with a fallback of NULL, a missing key
 * is an error. */
const char *text_word(struct text *t, const char *section, const char *key, const char *fallback);
/* Like text_word(), but return the value as a number (base/value.h): in B/s, bytes, ns. */
uint64_t text_rate(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_size(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_time(struct text *t, const char *section, const char *key, const char *fallback);
uint64_t text_number(struct text *t, const char *section, const char *key, const char *fallback,
                     uint64_t min, uint64_t max);
bool text_yes(struct text *t, const char *section, const char *key, const char *fallback);
/* Index of the key's value in `words`, which end with NULL. */
uint32_t text_choice(struct text *t, const char *section, const char *key, const char *fallback,
                     const char *const *words);
/* Reads "from" and "to" of a [kind name]: two different names of [host NAME], as their indices. */
void text_ends(struct text *t, const char *section, const char *const *names, uint32_t n,
               uint32_t *from, uint32_t *to);
/* Reads at most max numbers, with white space between them, into out. Returns how many. */
uint32_t text_reals(struct text *t, const char *section, const char *key, const char *fallback,
                    double *out, uint32_t max);

#endif
