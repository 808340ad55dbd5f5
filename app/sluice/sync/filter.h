/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which files take part in a sync: include and exclude rules, by rsync's pattern rules
 * (sluice(1), Patterns). The first rule that matches a name decides; a name that none matches takes
 * part. Of an excluded directory, nothing is looked at.
 */
#ifndef SLUICE_COMMAND_FILTER_H
#define SLUICE_COMMAND_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/files/record.h"

#define FILTER_RULES_MAX 65536
#define FILTER_RULE_MAX  4095 /* bytes of a rule: a message holds it */

struct filter_rule {
    char *text;          /* as filter_add() gets it: "- *.o" */
    char *pattern;       /* without the slash at its end */
    bool include;        /* else exclude */
    bool directory;      /* matches only directories */
    bool anchored;       /* began with a slash: matches from the top of the transfer on */
    bool wild, any_path; /* it has wildcards; it has ** */
    size_t slashes;
};

struct filter {
    struct filter_rule *rules;
    size_t n;
};

/* A filter that is zero has no rules. */
void filter_fini(struct filter *f);
/* Adds a rule, "+ PATTERN" or "- PATTERN". NULL, or what is wrong with it. */
const char *filter_add(struct filter *f, const char *rule);
/* The same for the value of an option, or a line of a file: a pattern, which may have a + or - in
 * front of it, else is included or excluded as `include` says; "!" forgets the rules so far. */
const char *filter_option(struct filter *f, const char *pattern, bool include);
/* Adds each line of the file, but for empty ones and those that begin with # or ;. Returns an exit
 * code; the error is printed. path "-": standard input. */
int filter_read(struct filter *f, const char *path, bool include);
/* Whether the name, relative to the top of the transfer, is excluded. f NULL: nothing is. */
bool filter_excludes(const struct filter *f, const char *name, bool directory);
/* Whether the name, or a directory that it is in, is excluded. */
bool filter_hides(const struct filter *f, const char *name, bool directory);

#endif
