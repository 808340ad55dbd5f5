/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice exec and sluice console: the daemon's console, for one command or from a terminal. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "sluice/command.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/remote/remote.h"
#include "sluice/say.h"

enum { EXEC_FILE = OPTIONS_OWN };

const char command_exec_help[] =
    "usage: sluice exec COMMAND... [--json] [--socket PATH]\n"
    "Runs one command of the daemon's console. The words of the command may be one\n"
    "argument or several.\n"
    "\n"
    "  sluice exec 'show port stats all' --json\n"
    "  sluice exec set capacity 5Gbit\n"
    "  sluice exec help                         lists all commands\n"
    "\n"
    "      --json         print output as JSON\n"
    "      --socket PATH  socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help         show this help\n"
    "\n"
    "Exit status: 0 done, 1 refused, 2 usage error, 3 no daemon, 5 local file error.\n"
    "Manual: sluice-console(7).\n";

const char command_console_help[] =
    "usage: sluice console [--cmdline-file FILE] [--json] [--socket PATH]\n"
    "Opens the daemon's console, with completion (Tab) and history. Commands may also\n"
    "come through a pipe.\n"
    "\n"
    "      --cmdline-file FILE  first run the commands in FILE; exit if one fails\n"
    "      --json               print output as JSON\n"
    "      --socket PATH        socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help               show this help\n"
    "\n"
    "Exit status: 0 done, 1 refused, 2 usage error, 3 no daemon, 5 local file error;\n"
    "with a pipe, that of the first command that failed. Manual: sluice-console(7).\n";

static const struct option console_longs[] = {
    OPTIONS_PLAIN,
    {"cmdline-file", required_argument, NULL, EXEC_FILE},
    {NULL, 0, NULL, 0},
};

/* The command line of sluice exec or sluice console. */
struct exec {
    struct options options;
    const char *file;
    char line[GRAMMAR_LINE_MAX + 1];
};

static int exec_one(struct exec *x, struct console *c)
{
    return console_line(c, x->line);
}

static int exec_talk(struct exec *x, struct console *c)
{
    int code = x->file != NULL ? console_load(c, x->file, false) : CONSOLE_OK;

    return code != CONSOLE_OK || c->quit ? code : console_talk(c);
}

static int exec_run(struct exec *x, bool stays, int (*talk)(struct exec *x, struct console *c))
{
    char why[512];
    struct remote r = {
        .socket = options_socket(&x->options), .json = x->options.json, .stays = stays};
    struct console c;
    int code, err = sluice_open(&r.session, x->options.socket, why, sizeof why);

    if (err < 0)
        return loop_refused(err, why);
    remote_console(&r, "sluice", "sluice> ", &c);
    code = talk(x, &c);
    remote_close(&r);
    sluice_close(r.session);
    return code;
}

int command_exec(int argc, char **argv)
{
    struct exec x = {.file = NULL};
    int code = options_plain(&x.options, command_exec_help, argc, argv);

    if (code != OPTIONS_GO)
        return code;
    if (optind == argc)
        return options_wrong("exec", "name a command; sluice exec help lists them");
    if (!grammar_join(x.line, sizeof x.line, (const char *const *)argv + optind,
                      (unsigned)(argc - optind)))
        return options_wrong("exec", "the command is too long; put it into a file, and load it");
    return exec_run(&x, false, exec_one);
}

int command_console(int argc, char **argv)
{
    struct exec x = {.file = NULL};
    int opt;

    while ((opt = getopt_long(argc, argv, ":h", console_longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_console_help, stdout);
            return say_flush();
        }
        if (opt == EXEC_FILE)
            x.file = optarg;
        else if (!options_take(&x.options, opt))
            return options_refused("console", argv, opt);
    }
    if (optind != argc)
        return options_wrong("console",
                             "takes no arguments but options; to run one command, use sluice exec");
    setlocale(LC_CTYPE, "");
    return exec_run(&x, true, exec_talk);
}
