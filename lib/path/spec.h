/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a path's text word by word: white space separates words, each parenthesis is a word, letter
 * case is ignored. The first error is kept, with its position (characters from 1), the word, and
 * the nearest valid one. After an error every read fails, so that readers need not check in
 * between.
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
    const char *at;           /* where the next word starts, or the text ends */
    char word[SPEC_WORD_MAX]; /* the next word; empty at the end of the text */
    const char *tried[48];    /* words that would be valid as the next one */
    uint32_t n_tried;
    struct clock clock; /* converts times to cycles */
    bool failed;
    char *err;
    size_t err_len;
};

void spec_init(struct spec *s, const char *text, uint64_t hz, char *err, size_t err_len);

/* Takes the next word and returns true if it is `word`; else remembers `word` for spec_stray(). */
bool spec_accept(struct spec *s, const char *word);
bool spec_end(const struct spec *s);
/* True if the next word starts like a number. */
bool spec_digit(const struct spec *s);
void spec_next(struct spec *s);

/* Keeps an error about the next word: `what` says what is wrong with it. Returns -EINVAL. */
int spec_fail(struct spec *s, const char *what);
/* Keeps an error: the next word is none of those tried since the last word was taken. Suggests the
 * nearest of them. Returns -EINVAL. */
int spec_stray(struct spec *s, const char *what);
/* Keeps an error that is not the text's fault, such as -ENOMEM. Returns that error. */
int spec_fail_errno(struct spec *s, int error, const char *what);

/* Each of these takes the next word as a value and returns true, or keeps an error and returns
 * false. The error calls the value `of`, such as "delay's jitter". */
bool spec_time(struct spec *s, const char *of, uint64_t *cycles);
bool spec_rate(struct spec *s, const char *of, uint64_t *rate_Bps);
bool spec_share(struct spec *s, const char *of, uint64_t *probability);
bool spec_number(struct spec *s, const char *of, uint64_t least, uint64_t most, uint64_t *number);
bool spec_signed(struct spec *s, const char *of, int64_t most, int64_t *number);
/* Takes a plain number as *packets, or a number with a unit as *bytes. The other of the two stays
 * as it is. */
bool spec_limit(struct spec *s, const char *of, uint64_t *packets, uint64_t *bytes);
bool spec_size(struct spec *s, const char *of, uint64_t *bytes);

#endif
