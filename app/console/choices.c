/* SPDX-License-Identifier: BSD-3-Clause */
/* See choices.h. */
#include "console/choices.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "console/text.h"

#define LINE_WIDTH 78

/* Adds a choice, unless it has bytes that control the terminal, as names of files may. */
static void choice_add(struct choices *ch, const char *word)
{
    char safe[CHOICE_MAX];

    if (ch->n == CHOICES_MAX || strncmp(word, ch->begun, strlen(ch->begun)) != 0 ||
        strcmp(text_safe(safe, sizeof safe, word), word) != 0) /* text_safe() changed or cut it */
        return;
    for (unsigned i = 0; i < ch->n; i++)
        if (strcmp(ch->word[i], word) == 0)
            return;
    strcpy(ch->word[ch->n++], word);
}

static void value_add(void *ctx, const char *word, const struct grammar_kind *kind)
{
    choice_add(ctx, word);
}

static void files_add(struct choices *ch)
{
    char pattern[CHOICE_MAX + 2];
    glob_t found = {0};

    if (strpbrk(ch->begun, "*?[\\") != NULL)
        return;
    snprintf(pattern, sizeof pattern, "%.*s*", CHOICE_MAX, ch->begun);
    if (glob(pattern, GLOB_MARK, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            choice_add(ch, found.gl_pathv[i]);
    globfree(&found);
}

/* Adds a word of the grammar, or the known values of a kind; a hint if none is known. */
static void word_add(void *ctx, const char *word, const struct grammar_kind *kind)
{
    struct choices *ch = ctx;
    unsigned before = ch->n;
    size_t len = strlen(ch->hints);

    if (kind == NULL) {
        choice_add(ch, word);
        return;
    }
    if (strcmp(word, "FILE") == 0)
        files_add(ch);
    else if (ch->console->values != NULL)
        ch->console->values(ch->console->ctx, kind, value_add, ch);
    if (ch->n == before)
        snprintf(ch->hints + len, sizeof ch->hints - len, "%s%s, such as %s", len > 0 ? "; " : "",
                 word, kind->example);
}

/* The length of the text with which all choices begin, in whole characters. */
static size_t choices_common(const struct choices *ch)
{
    size_t len = strlen(ch->word[0]);

    for (unsigned i = 1; i < ch->n; i++)
        for (size_t k = 0; k < len; k++)
            if (ch->word[i][k] != ch->word[0][k])
                len = k;
    while (len > 0 && utf8_continues(ch->word[0][len]))
        len--;
    return len;
}

void choices_print(const struct choices *ch)
{
    size_t column = 0;

    putchar('\n');
    for (unsigned i = 0; i < ch->n; i++) {
        size_t len = strlen(ch->word[i]) + 2;

        if (column > 0 && column + len > LINE_WIDTH) {
            putchar('\n');
            column = 0;
        }
        printf("%s  ", ch->word[i]);
        column += len;
    }
    if (column > 0)
        putchar('\n');
    if (ch->hints[0] != 0)
        printf("%s\n", ch->hints);
    fflush(stdout);
}

static void word_pass(void *ctx, const char *word, const struct grammar_kind *kind)
{
}

/* The unfinished word at the end of `line`, whose length grammar_expect() returns. */
static const char *begun_of(const struct console *c, const char *line)
{
    return line + strlen(line) - grammar_expect(&c->grammar, line, word_pass, NULL);
}

void choices_find(struct choices *ch, const struct console *c, const char *line)
{
    ch->n = 0;
    ch->hints[0] = 0;
    ch->console = c;
    ch->begun = begun_of(c, line);
    grammar_expect(&c->grammar, line, word_add, ch);
}

void choices_more(const struct choices *ch, char *more, size_t more_len)
{
    size_t begun = strlen(ch->begun), common = ch->n > 0 ? choices_common(ch) : 0;
    bool only = ch->n == 1 && ch->hints[0] == 0;

    more[0] = 0;
    /* a value may come instead of a word: nothing is appended */
    if (ch->hints[0] != 0 && begun == 0)
        return;
    if (common > begun || only)
        snprintf(more, more_len, "%.*s%s", (int)(common - begun), ch->word[0] + begun,
                 ch->n == 1 && ch->word[0][common - 1] != '/' ? " " : "");
}
