/* SPDX-License-Identifier: BSD-3-Clause */
/* Wildcards in names. See pattern.h. */
#include "sluice/sync/pattern.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Names of classes, and what belongs to them. */
static const struct {
    const char *name;
    int (*has)(int c);
} pattern_classes[] = {
    {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
    {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
    {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

/* Whether c belongs to the class whose name has len bytes; -1: there is no such class. */
static int class_has(const char *name, size_t len, unsigned char c)
{
    size_t i;

    for (i = 0; i < sizeof pattern_classes / sizeof *pattern_classes; i++) {
        if (strlen(pattern_classes[i].name) == len &&
            memcmp(pattern_classes[i].name, name, len) == 0)
            return pattern_classes[i].has(c) != 0;
    }
    return -1;
}

/* One member of a set. */
struct member {
    const char *end;    /* behind it; NULL: the set has no end */
    unsigned char last; /* the byte with which a range may begin; 0: none */
    bool has;           /* c belongs to it */
};

/* Reads the byte at p, which may stand behind a backslash. NULL: the pattern ends. */
static const char *member_byte(const char *p, unsigned char *byte)
{
    if (*p == '\\')
        p++;
    *byte = (unsigned char)*p;
    return *p == 0 ? NULL : p + 1;
}

/* Reads the member at p; `before`: the byte before it, as `last`. */
static struct member member_read(const char *p, unsigned char before, unsigned char c)
{
    struct member m = {.end = NULL};
    unsigned char byte;
    const char *end;
    int has;

    if (p[0] == '-' && before != 0 && p[1] != 0 && p[1] != ']') {
        m.end = member_byte(p + 1, &byte);
        m.has = c >= before && c <= byte;
        return m;
    }
    end = p[0] == '[' && p[1] == ':' ? strchr(p + 2, ']') : NULL;
    if (end != NULL && end > p + 2 && end[-1] == ':') {
        has = class_has(p + 2, (size_t)(end - 1 - (p + 2)), c);
        m.end = has < 0 ? NULL : end + 1; /* no such class: the pattern matches nothing */
        m.has = has > 0;
        return m;
    }
    m.end = member_byte(p, &byte);
    m.has = byte == c;
    m.last = byte;
    return m;
}

/* Whether c belongs to the set at p, behind its [. Returns what follows the set, or NULL. */
static const char *set_matches(const char *p, unsigned char c)
{
    bool negated = *p == '!' || *p == '^', found = false;
    struct member m = {.end = p + negated};

    do {
        m = member_read(m.end, m.last, c);
        if (m.end == NULL)
            return NULL;
        found |= m.has;
    } while (*m.end != ']');
    return found != negated && c != '/' ? m.end + 1 : NULL;
}

/* Whether the byte c matches what is at p, no star. Returns what follows in the pattern, or NULL.
 */
static const char *one_matches(const char *p, unsigned char c)
{
    switch (*p) {
    case '?':
        return c != '/' ? p + 1 : NULL;
    case '[':
        return set_matches(p + 1, c);
    case '\\':
        p++;
        break;
    default:
        break;
    }
    return *p != 0 && (unsigned char)*p == c ? p + 1 : NULL;
}

/* The newest star of a kind: what follows it in the pattern, and up to where it reaches now. */
struct star {
    const char *pattern; /* NULL: there is none */
    const char *text;
};

bool pattern_matches(const char *pattern, const char *text)
{
    struct star one = {NULL, NULL}, two = {NULL, NULL};
    const char *next;

    for (;;) {
        if (*pattern == '*') {
            bool slashes = pattern[1] == '*';

            pattern += strspn(pattern, "*");
            one = (struct star){slashes ? NULL : pattern, text};
            if (slashes)
                two = (struct star){pattern, text};
            continue;
        }
        if (*text == 0 && *pattern == 0)
            return true;
        next = *text != 0 && *pattern != 0 ? one_matches(pattern, (unsigned char)*text) : NULL;
        if (next != NULL) {
            pattern = next;
            text++;
        } else if (one.pattern != NULL && *one.text != 0 && *one.text != '/') {
            pattern = one.pattern; /* the star takes one byte more */
            text = ++one.text;
        } else if (two.pattern != NULL && *two.text != 0) {
            one.pattern = NULL;
            pattern = two.pattern;
            text = ++two.text;
        } else {
            return false;
        }
    }
}
