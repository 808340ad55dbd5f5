/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A console's grammar: one table of commands, from which the parser, completion, help and the man
 * page come. No DPDK here: the command and the daemon read lines alike.
 *
 * A command is a pattern of words: "set conn CONN rate|ceiling RATE|none". Lower case stands for
 * itself, | parts alternatives, upper case is a value of that kind (grammar_kinds), the last word
 * may stand in brackets: it may be left out. A value of some kinds takes the rest of the line.
 *
 * Invariant: a line that parses names one command, and every value in it is of its kind; nothing
 * in a line that does not is taken.
 */
#ifndef SLUICE_COMMAND_GRAMMAR_H
#define SLUICE_COMMAND_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAMMAR_LINE_MAX  2048 /* bytes, without the 0 */
#define GRAMMAR_WORDS_MAX 12
#define GRAMMAR_ERROR_MAX 400

struct grammar_command {
    const char *pattern; /* NULL: the table ends */
    const char *help;    /* what it does, in one line */
    int run;             /* the table's owner knows it by this */
    unsigned in;         /* which consoles have it: a bit for each */
};

struct grammar_kind {
    const char *name;                       /* in patterns */
    const char *example;                    /* "write it like ..." */
    bool rest;                              /* takes the rest of the line, blanks and all */
    const char *(*check)(const char *text); /* what is wrong with it, or NULL */
};

struct grammar_line {
    const struct grammar_command *command; /* NULL: nothing but blanks or a # comment */
    unsigned n;
    const char *word[GRAMMAR_WORDS_MAX]; /* into text */
    char text[GRAMMAR_LINE_MAX + 1];
};

struct grammar {
    const struct grammar_command *commands;
    const struct grammar_kind *kinds; /* ends with name NULL */
    unsigned in;                      /* which of the commands */
};

/* 0, or -EINVAL with a line in err: where (word and its number), what is wrong, what was meant. */
int grammar_parse(const struct grammar *g, const char *line, struct grammar_line *out, char *err,
                  size_t err_len);

/* n words as a line, one blank between; false: out is too short. */
bool grammar_join(char *out, size_t out_len, const char *const *words, unsigned n);

/*
 * What may stand where the cursor is, at the end of `line`: found() gets each word that begins like
 * the one begun there, or, with a kind, the kind of a value. Returns the bytes of the word begun.
 */
typedef void (*grammar_found)(void *ctx, const char *word, const struct grammar_kind *kind);
size_t grammar_expect(const struct grammar *g, const char *line, grammar_found found, void *ctx);

/* Calls each() for the commands that begin with the words of topic ("": all); how many there are.
 */
typedef void (*grammar_each)(void *ctx, const struct grammar_command *c);
unsigned grammar_help(const struct grammar *g, const char *topic, grammar_each each, void *ctx);

#endif
