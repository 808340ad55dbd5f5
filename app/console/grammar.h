/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A console's grammar: one table of commands, from which the parser, completion, help and the man
 * page come. No DPDK here: the sluice command and the daemon read lines alike.
 *
 * A command is a pattern of words: "set conn CONN rate|ceiling RATE|none". A word in lower case
 * stands for itself; | separates alternatives; a word in upper case stands for a value of the kind
 * with that name (struct grammar_kind). If the last word is in brackets, it may be left out. A
 * value of some kinds takes the rest of the line.
 *
 * Invariant: a line that parses names one command, and every value in it is of its kind. No part of
 * a line that does not parse is executed.
 */
#ifndef SLUICE_COMMAND_GRAMMAR_H
#define SLUICE_COMMAND_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAMMAR_LINE_MAX  2048 /* bytes, without the terminating 0 */
#define GRAMMAR_WORDS_MAX 12
#define GRAMMAR_ERROR_MAX 400

struct grammar_command {
    const char *pattern; /* NULL: the table ends */
    const char *help;    /* what it does, in one line */
    int run;             /* number by which the table's owner knows the command */
    unsigned in;         /* which consoles have it: a bit for each */
};

struct grammar_kind {
    const char *name;                       /* as in patterns */
    const char *example;                    /* for errors: "write it like ..." */
    bool rest;                              /* takes the rest of the line, blanks and all */
    const char *(*check)(const char *text); /* NULL, or what is wrong */
};

struct grammar_line {
    const struct grammar_command *command; /* NULL: nothing but blanks or a # comment */
    unsigned n;
    const char *word[GRAMMAR_WORDS_MAX]; /* points into text */
    char text[GRAMMAR_LINE_MAX + 1];
};

struct grammar {
    const struct grammar_command *commands;
    const struct grammar_kind *kinds; /* ends with name NULL */
    unsigned in;                      /* one bit: only commands whose `in` has this bit are known */
};

/* Returns 0, or -EINVAL with a message in err: which word is wrong, why, and what was probably
 * meant. */
int grammar_parse(const struct grammar *g, const char *line, struct grammar_line *out, char *err,
                  size_t err_len);

/* Joins n words into a line, with one blank between. False if out is too short. */
bool grammar_join(char *out, size_t out_len, const char *const *words, unsigned n);

/*
 * Finds what may come at the end of `line`, where the cursor is and where the last word may be
 * unfinished. Calls found() with each word of the grammar that may stand there and begins like the
 * unfinished one, and kind NULL; and with the name of each kind whose value may stand there, and
 * that kind. Returns the length of the unfinished word.
 */
typedef void (*grammar_found)(void *ctx, const char *word, const struct grammar_kind *kind);
size_t grammar_expect(const struct grammar *g, const char *line, grammar_found found, void *ctx);

/* Calls each() for the commands that begin with the words of `topic` ("": all). Returns how many
 * there are. */
typedef void (*grammar_each)(void *ctx, const struct grammar_command *c);
unsigned grammar_help(const struct grammar *g, const char *topic, grammar_each each, void *ctx);

#endif
