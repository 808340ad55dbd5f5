/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>
#include <cmdline_socket.h>

#include "emu/report.h"

struct console {
    struct box *box;
    struct cmdline *cl;
    bool quit;
};

/* rte_cmdline hands each command the words it parsed, and nothing else of ours. */
static struct console *open_console;

/* ---- show path|stats|spec ----------------------------------------------------------------- */

struct show_words {
    cmdline_fixed_string_t show, what;
};

static void show_run(void *parsed, struct cmdline *cl, void *data)
{
    const struct show_words *w = parsed;
    struct box *b = open_console->box;

    if (strcmp(w->what, "path") == 0) {
        for (unsigned int i = 0; i < 2; i++)
            cmdline_printf(cl, "path 0 %s %s\n", i == 0 ? "forward" : "reverse", b->spec[i]);
    } else {
        report_show(b, stdout);
    }
}

static cmdline_parse_token_string_t show_show =
    TOKEN_STRING_INITIALIZER(struct show_words, show, "show");
static cmdline_parse_token_string_t show_what =
    TOKEN_STRING_INITIALIZER(struct show_words, what, "path#stats");
static cmdline_parse_inst_t show_command = {
    .f = show_run,
    .help_str = "show path|stats: the specs as they are; what has been done",
    .tokens = {(void *)&show_show, (void *)&show_what, NULL},
};

/* ---- set path 0 forward|reverse SPEC ------------------------------------------------------ */

struct set_words {
    cmdline_fixed_string_t set, path;
    uint16_t number;
    cmdline_fixed_string_t direction;
    cmdline_multi_string_t spec;
};

static void set_run(void *parsed, struct cmdline *cl, void *data)
{
    const struct set_words *w = parsed;
    struct box *b = open_console->box;
    bool both = strcmp(w->direction, "both") == 0;
    char err[512];

    if (w->number != 0) {
        cmdline_printf(cl, "there is one path: 0\n");
        return;
    }
    for (unsigned int i = 0; i < 2; i++) {
        if (!both && strcmp(w->direction, i == 0 ? "forward" : "reverse") != 0)
            continue;
        if (box_set(b, i, strcmp(w->spec, "wire") == 0 ? "" : w->spec, err, sizeof err) != 0) {
            cmdline_printf(cl, "%s path unchanged: %s\n", i == 0 ? "forward" : "reverse", err);
            return;
        }
    }
}

static cmdline_parse_token_string_t set_set =
    TOKEN_STRING_INITIALIZER(struct set_words, set, "set");
static cmdline_parse_token_string_t set_path =
    TOKEN_STRING_INITIALIZER(struct set_words, path, "path");
static cmdline_parse_token_num_t set_number =
    TOKEN_NUM_INITIALIZER(struct set_words, number, RTE_UINT16);
static cmdline_parse_token_string_t set_direction =
    TOKEN_STRING_INITIALIZER(struct set_words, direction, "forward#reverse#both");
static cmdline_parse_token_string_t set_spec =
    TOKEN_STRING_INITIALIZER(struct set_words, spec, TOKEN_STRING_MULTI);
static cmdline_parse_inst_t set_command = {
    .f = set_run,
    .help_str = "set path 0 forward|reverse|both SPEC: another path; \"wire\" is an empty one",
    .tokens = {(void *)&set_set, (void *)&set_path, (void *)&set_number, (void *)&set_direction,
               (void *)&set_spec, NULL},
};

/* ---- help, quit --------------------------------------------------------------------------- */

struct word {
    cmdline_fixed_string_t word;
};

static void quit_run(void *parsed, struct cmdline *cl, void *data)
{
    open_console->quit = true;
    cmdline_quit(cl);
}

static cmdline_parse_token_string_t quit_word = TOKEN_STRING_INITIALIZER(struct word, word, "quit");
static cmdline_parse_inst_t quit_command = {
    .f = quit_run,
    .help_str = "quit: stop the box",
    .tokens = {(void *)&quit_word, NULL},
};

static void help_run(void *parsed, struct cmdline *cl, void *data);

static cmdline_parse_token_string_t help_word = TOKEN_STRING_INITIALIZER(struct word, word, "help");
static cmdline_parse_inst_t help_command = {
    .f = help_run,
    .help_str = "help: this list",
    .tokens = {(void *)&help_word, NULL},
};

static cmdline_parse_ctx_t commands[] = {&show_command, &set_command, &help_command, &quit_command,
                                         NULL};

static void help_run(void *parsed, struct cmdline *cl, void *data)
{
    for (unsigned int i = 0; commands[i] != NULL; i++)
        cmdline_printf(cl, "  %s\n", commands[i]->help_str);
    cmdline_printf(cl, "SPEC: sluice-path(7)\n");
}

/* ---- life --------------------------------------------------------------------------------- */

struct console *console_open(struct box *b)
{
    struct console *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->box = b;
    c->cl = cmdline_stdin_new(commands, "sluice-emu> ");
    if (c->cl == NULL) {
        free(c);
        return NULL;
    }
    open_console = c;
    return c;
}

bool console_read(struct console *c)
{
    char bytes[256];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

    if (n <= 0)
        return false;
    return cmdline_in(c->cl, bytes, (int)n) >= 0 && !c->quit;
}

void console_close(struct console *c)
{
    cmdline_stdin_exit(c->cl);
    open_console = NULL;
    free(c);
}
