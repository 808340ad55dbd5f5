/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"

const char options_help[] =
    "Usage: sluice-emu [EAL arguments] -- [--forward SPEC] [--reverse SPEC] [options]\n"
    "       sluice-emu --check SPEC\n"
    "\n"
    "A path between two DPDK ports: any Ethernet frame that one receives leaves by the\n"
    "other, delayed, lost, reordered, queued as SPEC says.\n"
    "\n"
    "  --forward SPEC   from the first port to the second; default: a wire\n"
    "  --reverse SPEC   from the second to the first\n"
    "  --both SPEC      the same for both\n"
    "  --ports A,B      names of the ports; default: the first two there are\n"
    "  --packets N      held in each direction at most, default 65536\n"
    "  --mtu N          largest IP packet in bytes, default 1500\n"
    "  --seed N         same seed, same fates; default 1\n"
    "  --time T         stop after so long, such as 10s; default: on SIGINT, SIGTERM\n"
    "  --interval T     report so often on stderr, default 0: only at the end\n"
    "  --json FILE      report as JSON, too, at each interval and at the end; - is stdout\n"
    "  --quiet          no report for people\n"
    "  -i               console: show path, show stats, set path 0 forward SPEC, quit\n"
    "  --check SPEC     say whether SPEC is right, and end\n"
    "  --help, --version\n"
    "\n"
    "SPEC, with netem's words, in the order that packets meet them:\n"
    "  rate 100mbit limit 250kB delay 20ms 2ms distribution normal loss 0.1%\n"
    "  loss gemodel 1% 10% | duplicate 1% | corrupt 0.1% | slot 1ms | delay 10ms\n"
    "  reorder 25% gap 5 | rate 1gbit red min 30kB max 90kB | codel | trace FILE |\n"
    "  police pcr 10mbit cdvt 1ms | match dport 80 ( ... ) else ( ... ) |\n"
    "  each flow ( ... ) | at 10s rate 1gbit\n"
    "All of it: sluice-path(7). Frequent EAL arguments: -l 0,1 (control, work),\n"
    "--in-memory, --no-huge --no-shconf -m 512, --vdev net_memif0,...\n"
    "Exit status: 0 stopped as asked, 1 fault while running, 2 command line or SPEC,\n"
    "4 EAL, 5 port. Manual: sluice-emu(8).\n";

struct option {
    const char *name;
    const char *value; /* what it needs, for messages; NULL: none */
};

enum {
    FORWARD,
    REVERSE,
    BOTH,
    PORTS,
    PACKETS,
    MTU,
    SEED,
    TIME,
    INTERVAL,
    JSON,
    QUIET,
    INTERACTIVE,
    CHECK_SPEC,
    HELP,
    VERSION,
};

static const struct option options[] = {
    [FORWARD] = {"--forward", "SPEC"},  [REVERSE] = {"--reverse", "SPEC"},
    [BOTH] = {"--both", "SPEC"},        [PORTS] = {"--ports", "A,B"},
    [PACKETS] = {"--packets", "N"},     [MTU] = {"--mtu", "N"},
    [SEED] = {"--seed", "N"},           [TIME] = {"--time", "T"},
    [INTERVAL] = {"--interval", "T"},   [JSON] = {"--json", "FILE"},
    [QUIET] = {"--quiet", NULL},        [INTERACTIVE] = {"-i", NULL},
    [CHECK_SPEC] = {"--check", "SPEC"}, [HELP] = {"--help", NULL},
    [VERSION] = {"--version", NULL},
};
#define N_OPTIONS (sizeof options / sizeof options[0])

struct parse {
    struct options *o;
    char *err;
    size_t err_len;
};

static int wrong(struct parse *p, const char *name, const char *value, const char *what)
{
    snprintf(p->err, p->err_len, "%s %s: %s", name, value, what);
    return -EINVAL;
}

static int ports_set(struct parse *p, const char *value)
{
    const char *comma = strchr(value, ',');
    size_t len = comma != NULL ? (size_t)(comma - value) : 0;

    if (len == 0 || len >= OPTIONS_PORT_MAX || comma[1] == '\0' ||
        strlen(comma + 1) >= OPTIONS_PORT_MAX)
        return wrong(p, "--ports", value,
                     "two names with a comma between; such as net_memif0,net_memif1");
    memcpy(p->o->port[0], value, len);
    p->o->port[0][len] = '\0';
    snprintf(p->o->port[1], OPTIONS_PORT_MAX, "%s", comma + 1);
    return 0;
}

static int number_set(struct parse *p, const char *name, const char *value, uint64_t least,
                      uint64_t most, uint64_t *out)
{
    char range[80];
    const char *what = value_number(value, out);

    if (what == NULL && (*out < least || *out > most)) {
        snprintf(range, sizeof range, "it is not in %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        what = range;
    }
    return what != NULL ? wrong(p, name, value, what) : 0;
}

static int time_set(struct parse *p, const char *name, const char *value, uint64_t *out)
{
    const char *what = value_time(value, out);

    return what != NULL ? wrong(p, name, value, what) : 0;
}

static int option_set(struct parse *p, size_t i, const char *value)
{
    struct options *o = p->o;

    switch (i) {
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
        return number_set(p, "--packets", value, 1, 1u << 24, &o->packets);
    case MTU:
        return number_set(p, "--mtu", value, 68, 65000, &o->mtu);
    case SEED:
        return number_set(p, "--seed", value, 0, UINT64_MAX, &o->seed);
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
    case INTERACTIVE:
        o->interactive = true;
        break;
    case HELP:
        o->help = true;
        break;
    default:
        o->version = true;
    }
    return 0;
}

static int unknown(struct parse *p, const char *arg)
{
    const char *nearest = NULL;
    unsigned int best = 4;

    for (size_t i = 0; i < N_OPTIONS; i++) {
        unsigned int d = value_distance(options[i].name, arg);

        if (d < best && options[i].name[1] == '-') {
            best = d;
            nearest = options[i].name;
        }
    }
    if (nearest != NULL)
        snprintf(p->err, p->err_len, "unknown argument %s; did you mean %s?", arg, nearest);
    else
        snprintf(
            p->err, p->err_len,
            "unknown argument %s; EAL arguments stand before --, a SPEC of several words needs "
            "quotes; see sluice-emu --help",
            arg);
    return -EINVAL;
}

/* Takes argv[*i], and the next if that is its value. */
static int option_take(struct parse *p, char **argv, int argc, int *i)
{
    const char *arg = strcmp(argv[*i], "-h") == 0 ? "--help" : argv[*i];

    for (size_t k = 0; k < N_OPTIONS; k++) {
        const struct option *opt = &options[k];
        size_t len = strlen(opt->name);

        if (strncmp(arg, opt->name, len) != 0)
            continue;
        if (arg[len] == '\0' && opt->value == NULL)
            return option_set(p, k, NULL);
        if (arg[len] == '=' && opt->value != NULL)
            return option_set(p, k, arg + len + 1);
        if (arg[len] == '\0' && *i + 1 < argc)
            return option_set(p, k, argv[++*i]);
        if (arg[len] == '\0') {
            snprintf(p->err, p->err_len, "%s needs a value; write %s %s", arg, arg, opt->value);
            return -EINVAL;
        }
    }
    return unknown(p, arg);
}

int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len)
{
    struct parse p = {o, err, err_len};
    int i, rc = 0;

    *o = (struct options){.spec = {"", ""}, .seed = 1, .packets = 65536, .mtu = 1500};
    for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        continue;
    o->eal_argc = i;
    if (i < argc)
        i++;
    else if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                          strcmp(argv[1], "--version") == 0 || strncmp(argv[1], "--check", 7) == 0))
        i = o->eal_argc = 1; /* these need no EAL, and no -- */
    for (; i < argc && rc == 0; i++)
        rc = option_take(&p, argv, argc, &i);
    return rc;
}
