/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice: moves files and measures, through a running sluiced. Man page: sluice(1). */
#include <stdio.h>
#include <string.h>

#include "client/sluice.h"
#include "sluice/command.h"
#include "sluice/complete.h"
#include "sluice/say.h"

static const char help[] =
    "usage: sluice COMMAND [OPTION...]\n"
    "Transfers data at the rate that the receiver grants, through a running sluiced.\n"
    "\n"
    "Commands:\n"
    "  cp [-r] SRC... DST                       copy files; SRC or DST is HOST:PATH\n"
    "  sync [--delete] SRC... DST               make DST as SRC, send what differs\n"
    "  send [-r] FILE|DIR|- [...] HOST[:PORT]   send files, directories or stdin\n"
    "  recv [-o DIR|FILE|-] [--once]            receive files and check their hashes\n"
    "  verify MANIFEST [DIR]                    check files that --manifest has listed\n"
    "  perf server                              wait for throughput tests\n"
    "  perf client HOST[:PORT]                  test throughput to a perf server\n"
    "  show conns|ports|workers|capacity|...    show the state of the daemon\n"
    "  top                                      show ports and connections live\n"
    "  console                                  open the daemon's console\n"
    "  exec COMMAND                             run one command of the console\n"
    "  reload                                   reload the daemon's configuration\n"
    "  ping HOST                                ask whether a daemon answers there\n"
    "  capture [-w FILE]                        capture packets, for Wireshark\n"
    "  doctor                                   check this machine for problems\n"
    "  key generate|public|shared [FILE]        make a host's key, or one that two share\n"
    "\n"
    "  -h, --help                               show this help\n"
    "      --version                            show the version\n"
    "\"sluice COMMAND --help\" shows the options of a command.\n"
    "\n"
    "Examples (of two lines, first the receiver, 10.0.0.1, then the sender):\n"
    "  sluice cp -r photos host:backup\n"
    "  sluice recv -o incoming\n"
    "  sluice send -r photos 10.0.0.1\n"
    "  sluice perf server --one-off\n"
    "  sluice perf client -t 10 10.0.0.1\n"
    "\n"
    "The socket of the daemon is --socket PATH, or $SLUICE_SOCKET, or\n"
    "/run/sluice/sluiced.sock. Without keys, use sluice in trusted networks only:\n"
    "nothing is encrypted then. Manual: sluice(1).\n";

#define COMMAND(name)                                                                              \
    {                                                                                              \
#name, command_##name, command_##name##_help                                               \
    }

static const struct command commands[] = {
    COMMAND(cp),     COMMAND(sync), COMMAND(send), COMMAND(recv),    COMMAND(perf),
    COMMAND(show),   COMMAND(top),  COMMAND(exec), COMMAND(console), COMMAND(reload),
    COMMAND(doctor), COMMAND(ping), COMMAND(key),  COMMAND(capture), COMMAND(verify),
};
#define COMMANDS (sizeof commands / sizeof *commands)

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
        printf("sluice %s\n", sluice_version());
        return say_flush();
    }
    if (strcmp(argv[1], "complete") == 0)
        return complete_print(commands, COMMANDS, help, argc - 2, argv + 2);
    for (i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return say_error(SAY_USAGE, "%s: no such command; see sluice --help", argv[1]);
}
