/* SPDX-License-Identifier: BSD-3-Clause */
/* See text.h. */
#include "lab/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/value.h"

/* ---- reading -------------------------------------------------------------------------------- */

static char *strip(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t len = strlen(s);

    while (len > 0 && isspace((unsigned char)s[len - 1]))
        s[--len] = '\0';
    return s;
}

/* Cuts the comment off, and takes the backslash before a # away. */
static void uncomment(char *s)
{
    char *out = s;

    for (; *s != '\0' && *s != '#'; *out++ = *s++)
        if (s[0] == '\\' && s[1] == '#')
            s++;
    *out = '\0';
}

__attribute__((format(printf, 3, 4))) static void line_wrong(struct text *t, uint32_t number,
                                                             const char *format, ...)
{
    va_list ap;
    int n;

    if (t->err[0] != '\0')
        return;
    n = snprintf(t->err, sizeof t->err, "%s:%u: ", t->file, number);
    va_start(ap, format);
    vsnprintf(t->err + n, sizeof t->err - (size_t)n, format, ap);
    va_end(ap);
}

static struct text_line *line_find(struct text *t, const char *section, const char *key)
{
    for (uint32_t i = 0; i < t->n; i++) {
        struct text_line *l = &t->lines[i];

        if (strcmp(l->section, section) == 0 &&
            (key == NULL ? l->key == NULL : l->key != NULL && strcmp(l->key, key) == 0))
            return l;
    }
    return NULL;
}

static void line_add(struct text *t, struct text_line l)
{
    const struct text_line *before = line_find(t, l.section, l.key);

    if (before != NULL)
        line_wrong(t, l.number, "%s occurs twice, first in line %u; remove one",
                   l.key != NULL ? l.key : l.section, before->number);
    else if (t->n == TEXT_LINES_MAX)
        line_wrong(t, l.number, "more than %u settings; remove some", TEXT_LINES_MAX);
    else
        t->lines[t->n++] = l;
}

static const char *section_read(struct text *t, char *line, uint32_t number, const char *old)
{
    char *end = strchr(line, ']');

    if (end == NULL || *strip(end + 1) != '\0') {
        line_wrong(t, number, "\"%.60s\" is not the head of a section; write [kind name]", line);
        return old;
    }
    *end = '\0';
    line_add(t, (struct text_line){strip(line + 1), NULL, "", number, false});
    return strip(line + 1);
}

void text_read(struct text *t, const char *file, char *buffer)
{
    const char *section = NULL;
    uint32_t number = 1;

    *t = (struct text){.file = file};
    for (char *line = buffer, *next; line != NULL; line = next, number++) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        uncomment(line);
        line = strip(line);
        char *equal = strchr(line, '=');

        if (*line == '\0')
            continue;
        if (*line == '[') {
            section = section_read(t, line, number, section);
        } else if (equal == NULL || section == NULL) {
            line_wrong(t, number, "\"%.60s\" is not a setting; write key = value below a [section]",
                       line);
        } else {
            *equal = '\0';
            line_add(t, (struct text_line){section, strip(line), strip(equal + 1), number, false});
        }
    }
}

/* ---- what is asked for ---------------------------------------------------------------------- */

const char *text_section(struct text *t, const char *kind, uint32_t i)
{
    size_t len = strlen(kind);

    for (uint32_t k = 0; k < t->n; k++) {
        struct text_line *l = &t->lines[k];

        if (l->key != NULL || strncmp(l->section, kind, len) != 0 ||
            (l->section[len] != '\0' && !isspace((unsigned char)l->section[len])))
            continue;
        if (i-- > 0)
            continue;
        l->asked = true;
        return l->section;
    }
    return NULL;
}

const char *text_name(const char *section)
{
    const char *p = section;

    while (*p != '\0' && !isspace((unsigned char)*p))
        p++;
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

void text_wrong(struct text *t, const char *section, const char *key, const char *format, ...)
{
    const struct text_line *l = line_find(t, section, key);
    char what[TEXT_ERR_MAX / 2];
    va_list ap;

    if (l == NULL)
        l = line_find(t, section, NULL);
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    line_wrong(t, l != NULL ? l->number : 0, "[%s] %s%s%s", section, key != NULL ? key : "",
               key != NULL ? ": " : "", what);
}

static const char *key_nearest(const struct text *t, const char *key)
{
    const char *nearest = NULL;
    unsigned int best = 4;

    for (uint32_t i = 0; i < t->n_keys; i++) {
        unsigned int d = value_distance(t->keys[i], key);

        if (d < best) {
            best = d;
            nearest = t->keys[i];
        }
    }
    return nearest;
}

bool text_right(struct text *t)
{
    for (uint32_t i = 0; i < t->n && t->err[0] == '\0'; i++) {
        const struct text_line *l = &t->lines[i];
        const char *nearest;

        if (l->asked)
            continue;
        if (l->key == NULL) {
            line_wrong(t, l->number, "[%s]: there is no such kind of section here; remove it",
                       l->section);
            continue;
        }
        nearest = key_nearest(t, l->key);
        line_wrong(t, l->number, "[%s] %s: there is no such key here; %s%s", l->section, l->key,
                   nearest != NULL ? "did you mean " : "remove the line",
                   nearest != NULL ? nearest : "");
    }
    return t->err[0] == '\0';
}

const char *text_word(struct text *t, const char *section, const char *key, const char *fallback)
{
    struct text_line *l = line_find(t, section, key);

    if (t->n_keys < TEXT_LINES_MAX)
        t->keys[t->n_keys++] = key;
    if (l != NULL) {
        l->asked = true;
        return l->value;
    }
    if (fallback == NULL)
        text_wrong(t, section, NULL, "%s is missing; add \"%s = ...\"", key, key);
    return fallback != NULL ? fallback : "";
}

static uint64_t text_value(struct text *t, const char *section, const char *key,
                           const char *fallback,
                           const char *(*parse)(const char *text, uint64_t *out),
                           const char *example)
{
    const char *text = text_word(t, section, key, fallback), *why;
    uint64_t value = 0;

    if (*text == '\0' && fallback == NULL)
        return 0;
    why = parse(text, &value);
    if (why != NULL)
        text_wrong(t, section, key, "\"%.60s\": %s; write for example %s", text, why, example);
    return value;
}

uint64_t text_rate(struct text *t, const char *section, const char *key, const char *fallback)
{
    return text_value(t, section, key, fallback, value_rate, "256kbit");
}

uint64_t text_size(struct text *t, const char *section, const char *key, const char *fallback)
{
    return text_value(t, section, key, fallback, value_size, "64kB");
}

uint64_t text_time(struct text *t, const char *section, const char *key, const char *fallback)
{
    return text_value(t, section, key, fallback, value_time, "10ms");
}

uint64_t text_number(struct text *t, const char *section, const char *key, const char *fallback,
                     uint64_t min, uint64_t max)
{
    uint64_t value = text_value(t, section, key, fallback, value_number, "5");

    if (t->err[0] == '\0' && (value < min || value > max)) {
        text_wrong(t, section, key, "%llu is not within %llu .. %llu; choose a number that is",
                   (unsigned long long)value, (unsigned long long)min, (unsigned long long)max);
        return min;
    }
    return value;
}

uint32_t text_choice(struct text *t, const char *section, const char *key, const char *fallback,
                     const char *const *words)
{
    const char *word = text_word(t, section, key, fallback);
    char all[200] = "";

    for (uint32_t i = 0; words[i] != NULL; i++) {
        size_t len = strlen(all);

        if (strcasecmp(words[i], word) == 0)
            return i;
        snprintf(all + len, sizeof all - len, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    text_wrong(t, section, key, "\"%.60s\" is none of these: %s; choose one", word, all);
    return 0;
}

bool text_yes(struct text *t, const char *section, const char *key, const char *fallback)
{
    static const char *const words[] = {"no", "yes", NULL};

    return text_choice(t, section, key, fallback, words) == 1;
}

static uint32_t end_of(struct text *t, const char *section, const char *key,
                       const char *const *names, uint32_t n)
{
    const char *name = text_word(t, section, key, NULL);

    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    text_wrong(t, section, key, "there is no [host %.40s]; add it, or name one that there is",
               name);
    return 0;
}

void text_ends(struct text *t, const char *section, const char *const *names, uint32_t n,
               uint32_t *from, uint32_t *to)
{
    *from = end_of(t, section, "from", names, n);
    *to = end_of(t, section, "to", names, n);
    if (*from == *to)
        text_wrong(t, section, "to", "a host sends nothing to itself; name another");
}

uint32_t text_reals(struct text *t, const char *section, const char *key, const char *fallback,
                    double *out, uint32_t max)
{
    const char *text = text_word(t, section, key, fallback), *p = text;
    uint32_t n = 0;

    while (*p != '\0') {
        char *end;
        double v = strtod(p, &end);

        if (end == p || (*end != '\0' && !isspace((unsigned char)*end)) || n == max) {
            text_wrong(t, section, key,
                       "\"%.60s\" is not 1 to %u numbers; write for example \"1 7\"", text, max);
            return 0;
        }
        out[n++] = v;
        for (p = end; isspace((unsigned char)*p);)
            p++;
    }
    return n;
}
