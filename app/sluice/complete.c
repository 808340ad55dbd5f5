/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See complete.h. In a help text, a line that begins with blanks, then has a name or options, and
 * behind two more blanks a description, names candidates:
 *
 *     "  conns        connections: state, peer, grants"          the word "conns"
 *     "  -t, --time TIME       duration of the test (10)"        the options "-t" and "--time"
 */
#include "sluice/complete.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "console/grammar.h"
#include "console/words.h"
#include "sluice/say.h"

#define NAME_INDENT 2u /* of a line that names a word; options may stand further right */

struct line {
    const char *head, *text; /* text: the description */
    size_t indent, head_len, text_len;
};

/* Cuts a line of a help text into its parts. False if it describes nothing. */
static bool line_cut(struct line *l, const char *start, size_t len)
{
    size_t end;

    l->indent = strspn(start, " ");
    if (l->indent < NAME_INDENT || l->indent >= len)
        return false;
    l->head = start + l->indent;
    for (end = l->indent; end + 1 < len && !(start[end] == ' ' && start[end + 1] == ' '); end++)
        ;
    if (end + 1 >= len)
        return false;
    l->head_len = end - l->indent;
    end += strspn(start + end, " ");
    l->text = start + end;
    l->text_len = len - end;
    return true;
}

static void candidate(const char *word, size_t len, const struct line *l, const char *begun)
{
    if (strncmp(word, begun, strlen(begun)) == 0 && strlen(begun) <= len)
        printf("%.*s\t%.*s\n", (int)len, word, (int)l->text_len, l->text);
}

/* The options of a line: "-t, --time TIME". */
static void line_options(const struct line *l, const char *begun)
{
    const char *at = l->head, *end = l->head + l->head_len;

    while (at < end && *at == '-') {
        size_t len = strcspn(at, ", ");

        candidate(at, len, l, begun);
        at += len;
        if (at >= end || *at != ',')
            return;
        at += 1 + strspn(at + 1, " ");
    }
}

/* The candidates of a help text that begin like `begun`: options if that begins with -, else words.
 */
static void help_print(const char *help, const char *begun)
{
    const char *last = "";
    size_t last_len = 0;

    for (const char *end; (end = strchr(help, '\n')) != NULL; help = end + 1) {
        struct line l;

        if (!line_cut(&l, help, (size_t)(end - help)))
            continue;
        if (begun[0] == '-') {
            line_options(&l, begun);
        } else if (l.indent == NAME_INDENT && islower((unsigned char)l.head[0])) {
            size_t len = strcspn(l.head, " ");

            /* "perf server" and "perf client" are one command. */
            if (len != last_len || strncmp(l.head, last, len) != 0)
                candidate(l.head, len, &l, begun);
            last = l.head;
            last_len = len;
        }
    }
}

/* The second words of a command in the program's help: "server" of "perf server". */
static void second_print(const char *help, const char *name, const char *begun)
{
    size_t name_len = strlen(name);

    for (const char *end; (end = strchr(help, '\n')) != NULL; help = end + 1) {
        const char *second;
        struct line l;

        if (!line_cut(&l, help, (size_t)(end - help)) || l.indent != NAME_INDENT ||
            l.head_len <= name_len || strncmp(l.head, name, name_len) != 0 ||
            l.head[name_len] != ' ')
            continue;
        second = l.head + name_len + 1;
        if (islower((unsigned char)second[0]) && second[strcspn(second, " |")] == ' ')
            candidate(second, strcspn(second, " "), &l, begun);
    }
}

static void found(void *ctx, const char *word, const struct grammar_kind *kind)
{
    if (kind == NULL)
        printf("%s\t\n", word);
}

/* The words of the console that may follow. */
static void console_print(int count, char *const *words)
{
    const struct grammar g = {words_commands, words_kinds, WORDS_DAEMON};
    char line[GRAMMAR_LINE_MAX + 1];

    if (grammar_join(line, sizeof line, (const char *const *)words, (unsigned)count))
        grammar_expect(&g, line, found, NULL);
}

int complete_print(const struct command *commands, size_t n, const char *help, int count,
                   char *const *words)
{
    const char *begun;

    if (count < 1)
        return SAY_OK;
    begun = words[count - 1];
    if (count == 1)
        help_print(help, begun);
    for (size_t i = 0; i < n && count > 1; i++) {
        const char *name = commands[i].name;

        if (strcmp(words[0], name) != 0)
            continue;
        if (begun[0] == '-' || (strcmp(name, "show") == 0 && count == 2))
            help_print(commands[i].help, begun);
        else if (strcmp(name, "exec") == 0)
            console_print(count - 1, words + 1);
        else if (count == 2)
            second_print(help, name, begun);
    }
    return say_flush();
}
