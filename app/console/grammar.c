/* SPDX-License-Identifier: BSD-3-Clause */
/* See grammar.h. Patterns are not compiled, but read word by word each time: tables are short. */
#include "console/grammar.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"
#include "console/text.h"

#define SAFE_MAX 48
#define LIST_MAX 200

/* A part of a pattern: one of its words, or one alternative of a word. */
struct part {
    const char *at;
    size_t len;
    bool optional;
};

/* What functions that read a line need to report an error, besides the line. */
struct reading {
    const struct grammar *g;
    char *err;
    size_t err_len;
};

/* ---- patterns ----------------------------------------------------------------------------- */

/* False if the pattern has no i-th word. */
static bool part_word(const char *pattern, unsigned i, struct part *out)
{
    const char *at = pattern;

    for (unsigned k = 0; *at != 0; k++) {
        size_t len = strcspn(at, " ");

        if (k == i) {
            out->optional = *at == '[';
            out->at = at + out->optional;
            out->len = len - 2 * out->optional;
            return true;
        }
        at += len + strspn(at + len, " ");
    }
    return false;
}

/* Steps to the next alternative of a word (out->at NULL: the first). False if there is none. */
static bool part_next(const struct part *word, struct part *out)
{
    const char *end = word->at + word->len;
    const char *at = out->at == NULL ? word->at : out->at + out->len + 1;

    if (at >= end)
        return false;
    out->at = at;
    out->len = strcspn(at, "| ]");
    return true;
}

static const struct grammar_kind *part_kind(const struct grammar *g, const struct part *p)
{
    const struct grammar_kind *k;

    if (!isupper((unsigned char)*p->at))
        return NULL;
    for (k = g->kinds; k->name != NULL; k++)
        if (strlen(k->name) == p->len && memcmp(k->name, p->at, p->len) == 0)
            return k;
    return NULL;
}

static bool part_is(const struct part *p, const char *text)
{
    return strlen(text) == p->len && memcmp(p->at, text, p->len) == 0;
}

enum match { MATCH_NONE, MATCH_VALUE, MATCH_WORD };

/* Does `text` fit the i-th word of c? *kind: the kind, if `text` would be a value. */
static enum match command_match(const struct grammar *g, const struct grammar_command *c,
                                unsigned i, const char *text, const struct grammar_kind **kind)
{
    struct part word, one = {0};

    *kind = NULL;
    if (!part_word(c->pattern, i, &word))
        return MATCH_NONE;
    while (part_next(&word, &one)) {
        const struct grammar_kind *k = part_kind(g, &one);

        if (k == NULL && part_is(&one, text))
            return MATCH_WORD;
        if (k != NULL)
            *kind = k;
    }
    return *kind != NULL ? MATCH_VALUE : MATCH_NONE;
}

static bool command_in(const struct grammar *g, const struct grammar_command *c)
{
    return (c->in & g->in) != 0;
}

/* The best match of `text`, the line's i-th word, with the commands that are alive: those that fit
 * all words before it. A word is better than a value, so "all" is a word where one command has it,
 * and a value elsewhere. */
static enum match best_match(const struct grammar *g, const bool *alive, unsigned i,
                             const char *text)
{
    enum match best = MATCH_NONE;

    for (unsigned k = 0; g->commands[k].pattern != NULL; k++) {
        const struct grammar_kind *kind;
        enum match m = alive[k] ? command_match(g, &g->commands[k], i, text, &kind) : MATCH_NONE;

        best = m > best ? m : best;
    }
    return best;
}

#define COMMANDS_MAX 128

static void alive_all(const struct grammar *g, bool *alive)
{
    for (unsigned k = 0; k < COMMANDS_MAX && g->commands[k].pattern != NULL; k++)
        alive[k] = command_in(g, &g->commands[k]);
}

static void alive_narrow(const struct grammar *g, bool *alive, unsigned i, const char *text,
                         enum match best)
{
    for (unsigned k = 0; g->commands[k].pattern != NULL; k++) {
        const struct grammar_kind *kind;

        alive[k] = alive[k] && best != MATCH_NONE &&
                   command_match(g, &g->commands[k], i, text, &kind) == best;
    }
}

/* ---- what may come ------------------------------------------------------------------------ */

/* Calls found() once for every word and every kind that may come as the i-th word. */
static void expect_each(const struct grammar *g, const bool *alive, unsigned i, grammar_found found,
                        void *ctx)
{
    struct part told[COMMANDS_MAX];
    unsigned n = 0, m;

    for (unsigned k = 0; g->commands[k].pattern != NULL; k++) {
        struct part word, one = {0};

        if (!alive[k] || !part_word(g->commands[k].pattern, i, &word))
            continue;
        while (part_next(&word, &one) && n < COMMANDS_MAX) {
            char text[64];

            snprintf(text, sizeof text, "%.*s", (int)one.len, one.at);
            for (m = 0; m < n && !part_is(&told[m], text); m++)
                ;
            if (m < n)
                continue;
            told[n++] = one;
            found(ctx, text, part_kind(g, &one));
        }
    }
}

struct list {
    char text[LIST_MAX];
    size_t len;
    unsigned n;
    const char *meant; /* `nearest` is the word most like this one; NULL: not wanted */
    char nearest[64];
    unsigned distance;
};

static void list_add(void *ctx, const char *word, const struct grammar_kind *kind)
{
    struct list *l = ctx;
    unsigned d = l->meant != NULL && kind == NULL ? value_distance(word, l->meant) : 99;
    int n = snprintf(l->text + l->len, sizeof l->text - l->len, "%s%s", l->n > 0 ? ", " : "", word);

    l->n++;
    if (n > 0 && l->len + (size_t)n < sizeof l->text)
        l->len += (size_t)n;
    if (d < l->distance) {
        l->distance = d;
        snprintf(l->nearest, sizeof l->nearest, "%s", word);
    }
}

/* ---- errors ------------------------------------------------------------------------------- */

static int unknown_word(const struct reading *r, const bool *alive, const struct grammar_line *l)
{
    struct list list = {.meant = l->word[l->n], .distance = 99};
    char safe[SAFE_MAX];
    const char *word = text_safe(safe, sizeof safe, l->word[l->n]);

    expect_each(r->g, alive, l->n, list_add, &list);
    if (list.n == 0)
        snprintf(r->err, r->err_len, "word %u, \"%s\": the command ends before it; leave it out",
                 l->n + 1, word);
    else if (list.distance <= 1 + strlen(l->word[l->n]) / 3)
        snprintf(r->err, r->err_len, "word %u, \"%s\": not known here; did you mean \"%s\"?",
                 l->n + 1, word, list.nearest);
    else
        snprintf(r->err, r->err_len, "word %u, \"%s\": not known here; write one of: %s", l->n + 1,
                 word, list.text);
    return -EINVAL;
}

static int line_short(const struct reading *r, const bool *alive, const struct grammar_line *l)
{
    struct list list = {.distance = 99};

    expect_each(r->g, alive, l->n, list_add, &list);
    snprintf(r->err, r->err_len, "the command is not complete; go on with%s: %s",
             list.n > 1 ? " one of" : "", list.text);
    return -EINVAL;
}

static int value_wrong(const struct reading *r, unsigned i, const char *text,
                       const struct grammar_kind *k, const char *why)
{
    char safe[SAFE_MAX];

    snprintf(r->err, r->err_len, "word %u, \"%s\": %s; write it like %s", i + 1,
             text_safe(safe, sizeof safe, text), why, k->example);
    return -EINVAL;
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Does the i-th word, as a value in a command that still fits the line, take the rest of the
 * line? */
static bool takes_rest(const struct grammar *g, const bool *alive, unsigned i, const char *word)
{
    for (unsigned k = 0; g->commands[k].pattern != NULL; k++) {
        const struct grammar_kind *kind;

        if (alive[k] && command_match(g, &g->commands[k], i, word, &kind) == MATCH_VALUE &&
            kind->rest)
            return true;
    }
    return false;
}

/* Cuts the next word out of *at, or all that is left if a value of its kind takes the rest of the
 * line. NULL at the end. */
static char *word_take(const struct grammar *g, const bool *alive, unsigned i, char **at)
{
    char *word = *at, *end;

    while (blank(*word))
        word++;
    if (*word == 0)
        return NULL;
    for (end = word; *end != 0 && !blank(*end); end++)
        ;
    if (*end == 0) {
        *at = end;
        return word;
    }
    *end = 0; /* tries the text up to here as a word */
    if (best_match(g, alive, i, word) != MATCH_WORD && takes_rest(g, alive, i, word)) {
        *end = ' ';
        end += strlen(end);
        while (end > word && blank(end[-1]))
            end--;
        *end = 0;
        *at = end;
        return word;
    }
    *at = end + 1;
    return word;
}

/* The command that is complete after n words, or NULL. */
static const struct grammar_command *command_whole(const struct grammar *g, const bool *alive,
                                                   unsigned n)
{
    for (unsigned k = 0; g->commands[k].pattern != NULL; k++) {
        struct part word;

        if (alive[k] && (!part_word(g->commands[k].pattern, n, &word) || word.optional))
            return &g->commands[k];
    }
    return NULL;
}

static int values_check(const struct reading *r, const struct grammar_line *l)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct grammar_kind *k;
        const char *why;

        if (command_match(r->g, l->command, i, l->word[i], &k) != MATCH_VALUE || k->check == NULL)
            continue;
        why = k->check(l->word[i]);
        if (why != NULL)
            return value_wrong(r, i, l->word[i], k, why);
    }
    return 0;
}

int grammar_parse(const struct grammar *g, const char *line, struct grammar_line *out, char *err,
                  size_t err_len)
{
    const struct reading r = {g, err, err_len};
    bool alive[COMMANDS_MAX] = {false};
    size_t len = strlen(line);
    char *at = out->text, *word;

    out->command = NULL;
    out->n = 0;
    if (len > GRAMMAR_LINE_MAX) {
        snprintf(err, err_len, "a line of %zu bytes is longer than %d; shorten it", len,
                 GRAMMAR_LINE_MAX);
        return -EINVAL;
    }
    memcpy(out->text, line, len + 1);
    if (line[strspn(line, " \t\r\n")] == '#')
        return 0;
    alive_all(g, alive);
    while ((word = word_take(g, alive, out->n, &at)) != NULL) {
        enum match best = best_match(g, alive, out->n, word);

        out->word[out->n] = word;
        if (best == MATCH_NONE || out->n + 1 == GRAMMAR_WORDS_MAX)
            return unknown_word(&r, alive, out);
        alive_narrow(g, alive, out->n++, word, best);
    }
    if (out->n == 0)
        return 0;
    out->command = command_whole(g, alive, out->n);
    return out->command == NULL ? line_short(&r, alive, out) : values_check(&r, out);
}

bool grammar_join(char *out, size_t out_len, const char *const *words, unsigned n)
{
    size_t len = 0;

    *out = 0;
    for (unsigned i = 0; i < n && len < out_len; i++)
        len += (size_t)snprintf(out + len, out_len - len, "%s%s", i > 0 ? " " : "", words[i]);
    return len < out_len;
}

/* ---- completion and help ------------------------------------------------------------------ */

struct begun {
    const char *word;
    grammar_found found;
    void *ctx;
};

static void begun_found(void *ctx, const char *word, const struct grammar_kind *kind)
{
    const struct begun *b = ctx;

    if (kind != NULL || strncmp(word, b->word, strlen(b->word)) == 0)
        b->found(b->ctx, word, kind);
}

size_t grammar_expect(const struct grammar *g, const char *line, grammar_found found, void *ctx)
{
    bool alive[COMMANDS_MAX] = {false};
    char text[GRAMMAR_LINE_MAX + 1];
    struct begun b = {"", found, ctx};
    char *at = text, *word;
    unsigned i = 0;

    if (strlen(line) > GRAMMAR_LINE_MAX)
        return 0;
    memcpy(text, line, strlen(line) + 1);
    alive_all(g, alive);
    while (i < GRAMMAR_WORDS_MAX && (word = word_take(g, alive, i, &at)) != NULL) {
        /* the cursor is right behind the word, which may be unfinished */
        if (*at == 0 && !blank(line[strlen(line) - 1])) {
            b.word = word;
            break;
        }
        alive_narrow(g, alive, i, word, best_match(g, alive, i, word));
        i++;
    }
    expect_each(g, alive, i, begun_found, &b);
    return strlen(b.word);
}

unsigned grammar_help(const struct grammar *g, const char *topic, grammar_each each, void *ctx)
{
    bool alive[COMMANDS_MAX] = {false};
    char text[GRAMMAR_LINE_MAX + 1];
    char *save = NULL, *word;
    unsigned i = 0, n = 0;

    snprintf(text, sizeof text, "%s", topic);
    alive_all(g, alive);
    for (word = strtok_r(text, " \t", &save); word != NULL; word = strtok_r(NULL, " \t", &save)) {
        alive_narrow(g, alive, i, word, best_match(g, alive, i, word));
        i++;
    }
    for (unsigned k = 0; g->commands[k].pattern != NULL; k++)
        if (alive[k]) {
            n++;
            if (each != NULL)
                each(ctx, &g->commands[k]);
        }
    return n;
}
