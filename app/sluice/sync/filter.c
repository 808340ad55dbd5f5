/* SPDX-License-Identifier: BSD-3-Clause */
/* Include and exclude rules. See filter.h. */
#include "sluice/sync/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sync/lines.h"
#include "sluice/sync/pattern.h"

static void filter_clear(struct filter *f)
{
    while (f->n > 0) {
        f->n--;
        free(f->rules[f->n].text);
        free(f->rules[f->n].pattern);
    }
}

void filter_fini(struct filter *f)
{
    filter_clear(f);
    free(f->rules);
    f->rules = NULL;
}

const char *filter_add(struct filter *f, const char *rule)
{
    struct filter_rule r = {.include = rule[0] == '+'}, *more;
    const char *at;
    size_t len;

    if ((rule[0] != '+' && rule[0] != '-') || rule[1] != ' ' || rule[2] == 0)
        return "no pattern; give one, as *.o";
    if (strlen(rule) > FILTER_RULE_MAX)
        return "a pattern is longer than 4000 bytes; shorten it";
    if (f->n == FILTER_RULES_MAX)
        return "more than 65536 patterns; give fewer";
    more = realloc(f->rules, (f->n + 1) * sizeof *more);
    if (more == NULL)
        return "no memory; end other programs first";
    f->rules = more;
    r.text = strdup(rule);
    r.pattern = strdup(rule + 2);
    if (r.text == NULL || r.pattern == NULL) {
        free(r.text);
        free(r.pattern);
        return "no memory; end other programs first";
    }
    len = strlen(r.pattern);
    r.directory = len > 1 && r.pattern[len - 1] == '/';
    if (r.directory)
        r.pattern[len - 1] = 0;
    r.anchored = r.pattern[0] == '/';
    r.wild = strpbrk(r.pattern, "*[?") != NULL;
    r.any_path = strstr(r.pattern, "**") != NULL;
    for (at = r.pattern; (at = strchr(at, '/')) != NULL; at++)
        r.slashes++;
    f->rules[f->n++] = r;
    return NULL;
}

const char *filter_option(struct filter *f, const char *pattern, bool include)
{
    char rule[FILTER_RULE_MAX + 1];

    if (strcmp(pattern, "!") == 0) {
        filter_clear(f);
        return NULL;
    }
    if ((pattern[0] == '+' || pattern[0] == '-') && pattern[1] == ' ')
        return filter_add(f, pattern);
    if (strlen(pattern) + 2 > FILTER_RULE_MAX)
        return "a pattern is longer than 4000 bytes; shorten it";
    snprintf(rule, sizeof rule, "%c %s", include ? '+' : '-', pattern);
    return filter_add(f, rule);
}

/* Where the lines of a file go. */
struct filter_reader {
    struct filter *filter;
    bool include;
};

static const char *filter_line(void *context, const char *line)
{
    const struct filter_reader *r = context;

    return filter_option(r->filter, line, r->include);
}

int filter_read(struct filter *f, const char *path, bool include)
{
    struct filter_reader r = {f, include};

    return lines_read(path, filter_line, &r);
}

/* The last n components of the name; NULL: it has fewer. */
static const char *last_components(const char *name, size_t n)
{
    const char *at = name + strlen(name);

    while (at > name && (at[-1] != '/' || --n > 0))
        at--;
    return at > name || n == 1 ? at : NULL;
}

static bool text_matches(const struct filter_rule *r, const char *pattern, const char *text)
{
    return r->wild ? pattern_matches(pattern, text) : strcmp(pattern, text) == 0;
}

static bool rule_matches(const struct filter_rule *r, const char *name, bool directory)
{
    const char *pattern = r->pattern + r->anchored, *slash = strrchr(name, '/'), *at;
    char text[RECORD_NAME_MAX + 3];
    size_t len = strlen(pattern);

    if (r->directory && !directory)
        return false;
    if (r->slashes == 0 && !r->any_path)
        return text_matches(r, pattern, slash != NULL ? slash + 1 : name);
    if (!r->any_path && r->anchored)
        return text_matches(r, pattern, name);
    if (!r->any_path) {
        at = last_components(name, r->slashes + 1);
        return at != NULL && text_matches(r, pattern, at);
    }
    /* A ** at the start may match nothing before a slash; "x / ***" is x and all below it. */
    snprintf(text, sizeof text, "%s%s%s", strncmp(r->pattern, "**", 2) == 0 ? "/" : "", name,
             directory && len >= 3 && strcmp(pattern + len - 3, "***") == 0 ? "/" : "");
    if (r->anchored || text[0] == '/')
        return pattern_matches(pattern, text);
    for (at = text; !pattern_matches(pattern, at); at++) {
        at = strchr(at, '/');
        if (at == NULL)
            return false;
    }
    return true;
}

bool filter_excludes(const struct filter *f, const char *name, bool directory)
{
    size_t i;

    for (i = 0; f != NULL && i < f->n; i++) {
        if (rule_matches(&f->rules[i], name, directory))
            return !f->rules[i].include;
    }
    return false;
}

bool filter_hides(const struct filter *f, const char *name, bool directory)
{
    char above[RECORD_NAME_MAX + 1];
    const char *slash = f != NULL ? strchr(name, '/') : NULL;

    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - name), name);
        if (filter_excludes(f, above, true))
            return true;
    }
    return filter_excludes(f, name, directory);
}
