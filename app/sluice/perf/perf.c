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

static const char help[] =
    "usage: sluice perf client [OPTION...] HOST[:PORT]\n"
    "       sluice perf server [OPTION...]\n"
    "Measures how fast data go from memory to memory.\n"
    "\n"
    "Client:\n"
    "  -t, --time TIME       how long (10); -n, --bytes SIZE  how much instead, per direction\n"
    "  -l, --length SIZE     of a request, 0 to 4G (50 ms at the granted rate, 64K to 16M)\n"
    "  -P, --parallel N      connections at once (1)\n"
    "  -R, --reverse         the server sends; --bidir  both send\n"
    "      --outstanding N   requests under way per stream and direction (4)\n"
    "      --sync            synchronous sends with partial copy, one after the other\n"
    "      --go-back-N       recover by going back instead of selectively\n"
    "      --check           send a pattern and look at every byte (slower)\n"
    "  -i, --interval TIME   between lines, 0: none (1)\n"
    "Server:\n"
    "  -p, --port PORT       service number to listen on (7000)\n"
    "  -1, --one-off         end after one test\n"
    "Both:\n"
    "      --memory SIZE     cycled through per direction (128M); server: most that a client gets "
    "(1G)\n"
    "      --parent PID      end with the process PID, which has started it\n"
    "      --rates FILE      write bytes, granted and momentary rate every 10 ms as CSV\n"
    "      --json            result as JSON; -q, --quiet  no lines but the result\n"
    "      --socket PATH     the daemon's socket ($SLUICE_SOCKET)\n"
    "\n"
    "Exit: 0 measured, 1 test broke or bytes were wrong, 2 usage, 3 no daemon, 4 peer unknown,\n"
    "unreachable or refused, 7 out of memory or quota. See sluice(1).\n";

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
            fputs(help, stdout);
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
    return say_error(SAY_LOCAL, "--parent %u: that process has not started this one, or has ended",
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
        return options_wrong("perf", "name the host, and only it");
    c.host = argv[optind];
    if (c.one_off || c.port != 0)
        return options_wrong("perf", "--one-off and --port are the server's; write HOST:PORT");
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
        return options_wrong("perf", "the server takes no names");
    if (c.bidir || c.reverse || c.sync || c.go_back_n || c.check || c.duration_ns != 0 ||
        c.total_bytes != 0 || c.request_given || c.streams != 0 || c.outstanding != 0)
        return options_wrong("perf", "what is measured is the client's to say");
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
        fputs(help, stdout);
        return say_flush();
    }
    return options_wrong("perf", "say client or server");
}
