/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice: moves files and measures, through a running sluiced. Man page: sluice(1). */
#include <stdio.h>
#include <string.h>

#include <rte_version.h>

#include "sluice/command.h"
#include "sluice/say.h"

static const char help[] =
    "usage: sluice COMMAND [OPTION...]\n"
    "Bulk transfer at the pace that the receiver sets, through a running sluiced.\n"
    "\n"
    "  send [-r] FILE|DIR|- [...] HOST[:PORT]   send files, directories or standard input\n"
    "  recv [-o DIR|FILE|-] [--once]            receive them, checked by hash\n"
    "  perf server                              measure: the side that waits\n"
    "  perf client HOST[:PORT]                  measure: the side that asks\n"
    "  show conns|ports|workers|capacity|...    what the daemon is doing\n"
    "  top                                      the same, live\n"
    "  console                                  the daemon's console: show, set, clear\n"
    "  exec COMMAND                             one command of it\n"
    "  reload                                   the daemon reads its configuration anew\n"
    "  doctor                                   what this machine lacks, and the cure\n"
    "\n"
    "  --help, --version; sluice COMMAND --help tells about a command.\n"
    "\n"
    "Examples:\n"
    "  sluice recv -o incoming                  on one host, then on another:\n"
    "  sluice send -r photos 10.0.0.1\n"
    "  tar c src | sluice send - 10.0.0.1 ; sluice recv -o - | tar x\n"
    "  sluice perf server --one-off ; sluice perf client -t 10 10.0.0.1\n"
    "\n"
    "The daemon is found by --socket PATH or $SLUICE_SOCKET (/run/sluice/sluiced.sock).\n"
    "Trusted networks only: nothing is encrypted yet.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"send", command_send},       {"recv", command_recv},     {"perf", command_perf},
    {"show", command_show},       {"top", command_top},       {"exec", command_exec},
    {"console", command_console}, {"reload", command_reload}, {"doctor", command_doctor},
};

int main(int argc, char **argv)
{
    size_t i;

    if (argc < 2) {
        fputs(help, stderr);
        return SAY_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        fputs(help, stdout);
        return say_flush();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sluice %s, %s\n", SLUICE_VERSION, rte_version());
        return say_flush();
    }
    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return say_error(SAY_USAGE, "%s: no such command; see sluice --help", argv[1]);
}
