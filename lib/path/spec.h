/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a path's text: words apart by white space, parentheses words by themselves, letter case
 * ignored. The first error is kept, with its position (characters from 1), the word, and the
 * nearest right one; after it every read fails, so that readers need not look in between.
 */
#ifndef SLUICE_PATH_SPEC_H
#define SLUICE_PATH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define SPEC_WORD_MAX 256u

struct spec {
    const char *text;
    const char *at;           /* the next word, or the end */
    char word[SPEC_WORD_MAX]; /* that word; empty at the end */
    const char *tried[48];    /* words that would have been right here */
    uint32_t n_tried;
    struct clock clock; /* for times */
    bool failed;
    char *err;
    size_t err_len;
};

void spec_init(struct spec *s, const char *text, uint64_t hz, char *err, size_t err_len);

/* Is this the next word? Then takes it; else remembers it for spec_stray(). */
bool spec_accept(struct spec *s, const char *word);
bool spec_end(const struct spec *s);
/* The next word starts like a number. */
bool spec_digit(const struct spec *s);
void spec_next(struct spec *s);

/* Keeps an error about the next word: `what` says what is wrong with it. Returns -EINVAL. */
int spec_fail(struct spec *s, const char *what);
/* The next word is none of those that were tried since the last word that fitted. */
int spec_stray(struct spec *s, const char *what);
/* An error that is not the text's, -ENOMEM or what it is given. */
int spec_fail_errno(struct spec *s, int error, const char *what);

/* Each takes a value, or keeps an error that says whose it was; of: "delay's jitter". */
bool spec_time(struct spec *s, const char *of, uint64_t *cycles);
bool spec_rate(struct spec *s, const char *of, uint64_t *rate_Bps);
bool spec_share(struct spec *s, const char *of, uint64_t *probability);
bool spec_number(struct spec *s, const char *of, uint64_t least, uint64_t most, uint64_t *number);
bool spec_signed(struct spec *s, const char *of, int64_t most, int64_t *number);
/* A plain number counts packets; with a unit, bytes. The other one is left as it is. */
bool spec_limit(struct spec *s, const char *of, uint64_t *packets, uint64_t *bytes);
bool spec_size(struct spec *s, const char *of, uint64_t *bytes);

#endif
