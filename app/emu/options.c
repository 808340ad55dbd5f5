/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/options.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "base/value.h"
#include "common/option.h"
#include "emu/layout.h"

const char options_help[] =
    "Usage: sluice-emu [EAL arguments] -- [--forward SPEC] [--reverse SPEC] [options]\n"
    "       sluice-emu --check SPEC\n"
    "\n"
    "Forwards Ethernet frames between two DPDK ports. In each direction, an emulated\n"
    "path may delay, lose, reorder and queue them.\n"
    "\n"
    "  --forward SPEC   path from the first port to the second (default: a wire)\n"
    "  --reverse SPEC   path from the second port to the first (default: a wire)\n"
    "  --both SPEC      the same path for both directions\n"
    "  --ports A,B      names of the two ports (default: the first two)\n"
    "  --packets N[,M]  packets that each direction can hold, or forward and reverse\n"
    "                   (65536); the paths of a split direction share them equally\n"
    "  --queues N       queues of each port (vhost, virtio, packet sockets: those of\n"
    "                   their --vdev; memif, and devices that do not spread flows\n"
    "                   over queues: 1; others: one for each worker lcore)\n"
    "  --split          a path for each queue: its rates, queues and limits hold per\n"
    "                   queue. Paths without any are split anyway, but not with -i\n"
    "  --mtu N          largest IP packet in bytes, 68 to 65535 (1500)\n"
    "  --seed N         seed of the random numbers (1)\n"
    "  --time T         stop after this time, such as 10s (default: no limit)\n"
    "  --interval T     time between reports on stderr (default: one at the end)\n"
    "  --json FILE      also write each report as JSON; - is standard output\n"
    "  --quiet          print no text reports\n"
    "  --log-format F   text (default) or json: how lines and reports on stderr look\n"
    "  -i               open a console: show path|stats, set path 0, load, help, quit\n"
    "  --check SPEC     check SPEC and exit\n"
    "  -h, --help       show this help\n"
    "  --version        show the versions of sluice-emu and DPDK\n"
    "\n"
    "SPEC, with netem's words, in the order in which packets pass its elements:\n"
    "  rate 100mbit limit 250kB delay 20ms 2ms distribution normal loss 0.1%\n"
    "  loss gemodel 1% 10% | duplicate 1% | corrupt 0.1% | slot 1ms | delay 10ms\n"
    "  reorder 25% gap 5 | rate 1gbit red min 30kB max 90kB | codel | trace FILE |\n"
    "  police pcr 10mbit cdvt 1ms | match dport 80 ( ... ) else ( ... ) |\n"
    "  each flow ( ... ) | at 10s rate 1gbit\n"
    "sluice-path(7) describes all of it.\n"
    "\n"
    "Common EAL arguments: -l 0,1 (control, worker), -l 0-2 (a worker for each\n"
    "direction; for more, each queue needs its own path), --in-memory,\n"
    "--no-huge --no-shconf -m 512, --vdev net_memif0,...\n"
    "Exit status: 0 stopped as asked, 1 run-time error, 2 command line or SPEC,\n"
    "4 EAL, 5 port. Manual: sluice-emu(8).\n";

enum {
    FORWARD,
    REVERSE,
    BOTH,
    PORTS,
    PACKETS,
    QUEUES,
    SPLIT,
    MTU,
    SEED,
    TIME,
    INTERVAL,
    JSON,
    QUIET,
    LOG_FORMAT,
    INTERACTIVE,
    CHECK_SPEC,
    HELP,
    HELP_SHORT,
    VERSION,
};

static const struct option options[] = {
    [FORWARD] = {.name = "--forward", .value = "SPEC", .may_be_empty = true},
    [REVERSE] = {.name = "--reverse", .value = "SPEC", .may_be_empty = true},
    [BOTH] = {.name = "--both", .value = "SPEC", .may_be_empty = true},
    [PORTS] = {.name = "--ports", .value = "A,B"},
    [PACKETS] = {.name = "--packets", .value = "N[,M]"},
    [QUEUES] = {.name = "--queues", .value = "N"},
    [SPLIT] = {.name = "--split"},
    [MTU] = {.name = "--mtu", .value = "N"},
    [SEED] = {.name = "--seed", .value = "N"},
    [TIME] = {.name = "--time", .value = "T"},
    [INTERVAL] = {.name = "--interval", .value = "T"},
    [JSON] = {.name = "--json", .value = "FILE"},
    [QUIET] = {.name = "--quiet"},
    [LOG_FORMAT] = {.name = "--log-format", .value = "FORMAT"},
    [INTERACTIVE] = {.name = "-i"},
    [CHECK_SPEC] = {.name = "--check", .value = "SPEC", .alone = true, .may_be_empty = true},
    [HELP] = {.name = "--help", .alone = true},
    [HELP_SHORT] = {.name = "-h", .alone = true},
    [VERSION] = {.name = "--version", .alone = true},
    {.name = NULL},
};

struct parse {
    struct options *o;
    char *err;
    size_t err_len;
};

static int ports_set(struct parse *p, const char *value)
{
    const char *comma = strchr(value, ',');
    size_t len = comma != NULL ? (size_t)(comma - value) : 0;

    if (len == 0 || len >= OPTIONS_PORT_MAX || comma[1] == '\0' ||
        strlen(comma + 1) >= OPTIONS_PORT_MAX)
        return option_wrong(
            "--ports", value,
            "write two names with a comma between them, for example net_memif0,net_memif1", p->err,
            p->err_len);
    memcpy(p->o->port[0], value, len);
    p->o->port[0][len] = '\0';
    snprintf(p->o->port[1], OPTIONS_PORT_MAX, "%s", comma + 1);
    return 0;
}

/* Reads N, for both directions, or N,M for forward and reverse. */
static int packets_set(struct parse *p, const char *value)
{
    char first[24];
    const char *comma = strchr(value, ',');
    size_t len = comma != NULL ? (size_t)(comma - value) : strlen(value);
    int rc;

    snprintf(first, sizeof first, "%.*s", (int)RTE_MIN(len, sizeof first - 1), value);
    rc = option_number("--packets", first, 1, 1u << 24, &p->o->packets[0], p->err, p->err_len);
    p->o->packets[1] = p->o->packets[0];
    if (rc == 0 && comma != NULL)
        rc = option_number("--packets", comma + 1, 1, 1u << 24, &p->o->packets[1], p->err,
                           p->err_len);
    return rc;
}

static int time_set(struct parse *p, const char *name, const char *value, uint64_t *out)
{
    const char *what = value_time(value, out);

    return what != NULL ? option_wrong(name, value, what, p->err, p->err_len) : 0;
}

static int option_set(struct parse *p, int option, const char *value)
{
    struct options *o = p->o;

    switch (option) {
    case FORWARD:
        o->spec[0] = value;
        break;
    case REVERSE:
        o->spec[1] = value;
        break;
    case CHECK_SPEC:
        o->check = true;
        /* fall through */
    case BOTH:
        o->spec[0] = o->spec[1] = value;
        break;
    case PORTS:
        return ports_set(p, value);
    case PACKETS:
        return packets_set(p, value);
    case QUEUES:
        return option_number("--queues", value, 1, LAYOUT_QUEUES_MAX, &o->queues, p->err,
                             p->err_len);
    case SPLIT:
        o->split = true;
        break;
    case MTU:
        return option_number("--mtu", value, 68, 65535, &o->mtu, p->err, p->err_len);
    case SEED:
        return option_number("--seed", value, 0, UINT64_MAX, &o->seed, p->err, p->err_len);
    case TIME:
        return time_set(p, "--time", value, &o->time_ns);
    case INTERVAL:
        return time_set(p, "--interval", value, &o->interval_ns);
    case JSON:
        o->json_path = value;
        break;
    case QUIET:
        o->quiet = true;
        break;
    case LOG_FORMAT:
        if (!say_format_read(value, &o->log_format))
            return option_wrong("--log-format", value, "write text or json", p->err, p->err_len);
        break;
    case INTERACTIVE:
        o->interactive = true;
        break;
    case HELP:
    case HELP_SHORT:
        o->help = true;
        break;
    default:
        o->version = true;
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len)
{
    struct parse p = {o, err, err_len};
    const char *value;
    int i, rc = 0;

    *o = (struct options){.spec = {"", ""}, .seed = 1, .packets = {65536, 65536}, .mtu = 1500};
    for (i = option_first(options, argc, argv, &o->eal_argc); i < argc && rc >= 0; i++) {
        rc = option_take(options, argc, argv, &i, &value,
                         "a SPEC of several words needs quotes; see sluice-emu --help", err,
                         err_len);
        if (rc >= 0)
            rc = option_set(&p, rc, value);
    }
    return rc;
}
