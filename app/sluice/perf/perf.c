/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice perf: the command line. */
#include "sluice/perf/perf.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sluice/command.h"
#include "sluice/say.h"

const char command_perf_help[] =
    "usage: sluice perf client [OPTION...] HOST[:PORT]\n"
    "       sluice perf server [OPTION...]\n"
    "Measures throughput from memory to memory. TIME is in seconds, or as 500ms.\n"
    "\n"
    "Client:\n"
    "  -t, --time TIME       duration of the test (10)\n"
    "  -n, --bytes SIZE      amount of data per direction, instead of a duration\n"
    "  -l, --length SIZE     size of a request, 0 to 4G (50 ms at the granted rate,\n"
    "                        64K to 16M)\n"
    "  -P, --parallel N      number of connections, 1 to 128 (1)\n"
    "  -R, --reverse         send from the server to the client\n"
    "      --bidir           send in both directions at the same time\n"
    "      --outstanding N   requests outstanding per connection and direction (4)\n"
    "      --sync            send synchronously, one request at a time\n"
    "      --go-back-N       repair losses by go-back-N instead of selective repeat\n"
    "      --check           send a pattern and check every byte (slower)\n"
    "Server:\n"
    "  -p, --port PORT       service number to listen on, 1 to 65535 (7000)\n"
    "  -1, --one-off         exit after one test\n"
    "Both:\n"
    "  -i, --interval TIME   time between lines, 0 for none (client 1, server 0)\n"
    "      --memory SIZE     memory per direction of a test (128M; server: limit, 1G)\n"
    "      --parent PID      exit when the parent process PID exits\n"
    "      --rates FILE      write a line of CSV every 10 ms: bytes and rates\n"
    "      --json            print the result as JSON\n"
    "  -q, --quiet           client: print only the result; server: print nothing\n"
    "  -v, --verbose         server: report when ready even if stderr is no terminal\n"
    "      --socket PATH     socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help            show this help\n"
    "\n"
    "Exit status: 0 measured, 1 test failed or bytes were wrong, 2 usage error, 3 no\n"
    "daemon, 4 peer unknown, unreachable or refusing, 7 out of memory, quota or other\n"
    "resources. Manual: sluice(1).\n";

enum {
    OPT_BIDIR = OPTIONS_OWN,
    OPT_OUTSTANDING,
    OPT_SYNC,
    OPT_GO_BACK_N,
    OPT_CHECK,
    OPT_MEMORY,
    OPT_PARENT,
};

static const struct option longs[] = {
    OPTIONS_LONG,
    {"time", required_argument, NULL, 't'},
    {"bytes", required_argument, NULL, 'n'},
    {"length", required_argument, NULL, 'l'},
    {"parallel", required_argument, NULL, 'P'},
    {"reverse", no_argument, NULL, 'R'},
    {"interval", required_argument, NULL, 'i'},
    {"port", required_argument, NULL, 'p'},
    {"one-off", no_argument, NULL, '1'},
    {"bidir", no_argument, NULL, OPT_BIDIR},
    {"outstanding", required_argument, NULL, OPT_OUTSTANDING},
    {"sync", no_argument, NULL, OPT_SYNC},
    {"go-back-N", no_argument, NULL, OPT_GO_BACK_N},
    {"check", no_argument, NULL, OPT_CHECK},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"parent", required_argument, NULL, OPT_PARENT},
    {NULL, 0, NULL, 0},
};

#define HOUR_NS 3600000000000u

static int perf_option_value(struct perf_config *c, int opt)
{
    uint64_t n = 0;
    int code = SAY_OK;

    switch (opt) {
    case 't':
        code = options_duration("--time", 1000000, 1000 * HOUR_NS, &c->duration_ns);
        break;
    case 'n':
        code = options_size("--bytes", 1, 1ull << 62, &c->total_bytes);
        break;
    case 'l':
        code = options_size("--length", 0, SLUICE_REQUEST_MAX, &c->request_bytes);
        c->request_given = true;
        break;
    case 'P':
        code = options_number("--parallel", 1, PERF_STREAMS_MAX, &n);
        c->streams = (uint32_t)n;
        break;
    case 'i':
        code = options_duration("--interval", 0, HOUR_NS, &c->interval_ns);
        break;
    case 'p':
        code = options_number("--port", 1, 65535, &n);
        c->port = (uint16_t)n;
        break;
    case OPT_OUTSTANDING:
        code = options_number("--outstanding", 1, PERF_OUTSTANDING_MAX, &n);
        c->outstanding = (uint32_t)n;
        break;
    case OPT_MEMORY:
        code = options_size("--memory", PERF_RECORD_BYTES, PERF_MEMORY_MAX, &c->memory_bytes);
        break;
    case OPT_PARENT:
        code = options_number("--parent", 1, INT32_MAX, &n);
        c->parent = (uint32_t)n;
        break;
    }
    return code;
}

static bool perf_option_flag(struct perf_config *c, int opt)
{
    switch (opt) {
    case 'R':
        return c->reverse = true;
    case '1':
        return c->one_off = true;
    case OPT_BIDIR:
        return c->bidir = true;
    case OPT_SYNC:
        return c->sync = true;
    case OPT_GO_BACK_N:
        return c->go_back_n = true;
    case OPT_CHECK:
        return c->check = true;
    default:
        return false;
    }
}

static int perf_options(struct perf_config *c, const char *short_options, int argc, char **argv)
{
    int opt, code = SAY_OK;

    while (code == SAY_OK && (opt = getopt_long(argc, argv, short_options, longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_perf_help, stdout);
            return -1;
        }
        if (opt == '?' || opt == ':')
            return options_refused("perf", argv, opt);
        if (!options_take(&c->common, opt) && !perf_option_flag(c, opt))
            code = perf_option_value(c, opt);
    }
    return code;
}

/* With --parent, makes this process end with its parent. SAY_OK, or an exit code; the error is
 * printed. */
static int perf_parent(const struct perf_config *c)
{
    if (c->parent == 0)
        return SAY_OK;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == (pid_t)c->parent)
        return SAY_OK;
    return say_error(SAY_LOCAL,
                     "--parent %u: that process is not the parent of this one, or has ended",
                     c->parent);
}

static int perf_client_command(int argc, char **argv)
{
    struct perf_config c = {
        .streams = 1, .outstanding = 4, .memory_bytes = PERF_MEMORY, .interval_ns = 1000000000};
    int code = perf_options(&c, ":t:n:l:P:Ri:qvh", argc, argv);

    if (code != SAY_OK)
        return code < 0 ? say_flush() : code;
    if (argc - optind != 1)
        return options_wrong("perf", "give one host, and only it");
    c.host = argv[optind];
    if (c.one_off || c.port != 0)
        return options_wrong("perf",
                             "--one-off and --port are options of the server; write HOST:PORT");
    if (c.duration_ns != 0 && c.total_bytes != 0)
        return options_wrong("perf", "give --time or --bytes, not both");
    if (c.duration_ns == 0 && c.total_bytes == 0)
        c.duration_ns = 10000000000;
    if (c.bidir && c.reverse)
        return options_wrong("perf", "give --bidir or --reverse, not both");
    if (c.sync && (c.bidir || c.reverse || c.streams > 1))
        return options_wrong("perf", "--sync sends on one connection, in one direction");
    if (c.request_given && c.request_bytes == 0 && c.total_bytes != 0)
        return options_wrong("perf", "requests of 0 bytes need --time, not --bytes");
    code = perf_parent(&c);
    return code == SAY_OK ? perf_client(&c) : code;
}

static int perf_server_command(int argc, char **argv)
{
    struct perf_config c = {.memory_bytes = PERF_MEMORY_SERVER};
    int code = perf_options(&c, ":p:1i:qvh", argc, argv);

    if (code != SAY_OK)
        return code < 0 ? say_flush() : code;
    if (argc != optind)
        return options_wrong("perf", "the server takes no arguments but options");
    if (c.bidir || c.reverse || c.sync || c.go_back_n || c.check || c.duration_ns != 0 ||
        c.total_bytes != 0 || c.request_given || c.streams != 0 || c.outstanding != 0)
        return options_wrong("perf", "options of the test belong to the client");
    if (c.port == 0)
        c.port = SLUICE_PORT_DEFAULT;
    code = perf_parent(&c);
    return code == SAY_OK ? perf_server(&c) : code;
}

int command_perf(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "client") == 0)
        return perf_client_command(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "server") == 0)
        return perf_server_command(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(command_perf_help, stdout);
        return say_flush();
    }
    return options_wrong("perf", "write client or server");
}
