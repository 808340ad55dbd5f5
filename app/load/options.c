/* SPDX-License-Identifier: BSD-3-Clause */
#include "load/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "base/value.h"
#include "common/option.h"

#define MTU_STANDARD 1500u
#define RFC2544      "60,124,252,508,1020,1276,1514"

const char options_help[] =
    "Usage: sluice-load [EAL arguments] -- [options]\n"
    "       sluice-load [EAL arguments] -- --listen | --reflect [options]\n"
    "\n"
    "Sends numbered, time-stamped frames through a device and reports exactly what came\n"
    "back: losses, duplicates, order and latency. It sends on the first port and receives\n"
    "on the second; with one port, on that one, whose device must send the frames back.\n"
    "\n"
    "  --ports A[,B]    names of the ports (default: the first two, or the only one)\n"
    "  --both           send and receive on both ports\n"
    "  --size LIST      bytes of a frame without CRC, 60 to 9600 (60); a mix is\n"
    "                   BYTES:WEIGHT+...; imix is 60:7+590:4+1514:1. A list with commas\n"
    "                   runs a window for each; rfc2544 is such a list\n"
    "  --rate LIST      max (default); 1Mpps; 1Gbit/l2 (of the frames), 1Gbit/line (with\n"
    "                   CRC, preamble and gap, 24 B a frame); 50% (of the link's line)\n"
    "  --seconds N      length of a window (1)\n"
    "  --warmup N       seconds of load before it that do not count (0)\n"
    "  --wait N         seconds for which late frames still count, at most (2)\n"
    "  --burst N        frames made up for at once, after the core was away (64)\n"
    "  --flows N        flows, 1 to 1048576, that take turns (1)\n"
    "  --src ADDR[+N]   first source address, and how many count up (198.18.0.1+256)\n"
    "  --dst ADDR[+N]   destination (198.19.0.1)\n"
    "  --sport P[+N]    UDP source port (49184+16352); counts fastest\n"
    "  --dport P[+N]    UDP destination port (7)\n"
    "  --src-mac MAC    source (the sending port's)\n"
    "  --dst-mac MAC    destination (the receiving port's; 02:00:00:00:00:02 with one port)\n"
    "  --vlan ID        VLAN tag, 1 to 4094, or none (none)\n"
    "  --verify         also check every byte of received payload\n"
    "  --count          only count what arrives: no losses, order or latency; faster\n"
    "  --listen         only receive what another sluice-load sends, until --seconds or a\n"
    "                   signal\n"
    "  --reflect        send frames back, addresses swapped, until --seconds or a signal\n"
    "  --queues N       RX and TX queues of each port (1)\n"
    "  --packets N      packet buffers for each direction of each port's queues (8191)\n"
    "  --mtu N          largest IP packet, 68 to 9586 (1500, or what --size needs)\n"
    "  --link RATE      line rate of the link, such as 10Gbit, if the port does not know it\n"
    "  --max-loss SHARE exit with 3 if more is lost: 0, or a share such as 0.1%\n"
    "  --json, --csv    one line for each window instead of a table\n"
    "  --interactive    read windows from standard input, a line each, such as\n"
    "                   \"size=60 rate=1Mpps seconds=0.5\"; answer each with a line of JSON\n"
    "  -h, --help       show this help\n"
    "  --version        show the versions of sluice-load and DPDK\n"
    "\n"
    "Common EAL arguments: -l 0,1,2 (control, then workers: senders and receivers apart),\n"
    "--in-memory, --no-huge --no-shconf -m 512, --vdev net_memif0,...\n"
    "Exit status: 0 ran, 1 set-up or run-time error, 2 command line, 3 loss above --max-loss.\n"
    "Manual: sluice-load(8).\n";

enum {
    PORTS,
    BOTH,
    SIZE,
    RATE,
    SECONDS,
    WARMUP,
    WAIT_LATE,
    BURST,
    FLOWS,
    SRC,
    DST,
    SPORT,
    DPORT,
    SRC_MAC,
    DST_MAC,
    VLAN,
    VERIFY,
    COUNT,
    LISTEN,
    REFLECT,
    QUEUES,
    PACKETS,
    MTU,
    LINK,
    MAX_LOSS,
    JSON,
    CSV,
    INTERACTIVE,
    HELP,
    HELP_SHORT,
    VERSION,
};

static const struct option options[] = {
    [PORTS] = {.name = "--ports", .value = "A[,B]"},
    [BOTH] = {.name = "--both"},
    [SIZE] = {.name = "--size", .value = "LIST"},
    [RATE] = {.name = "--rate", .value = "LIST"},
    [SECONDS] = {.name = "--seconds", .value = "N"},
    [WARMUP] = {.name = "--warmup", .value = "N"},
    [WAIT_LATE] = {.name = "--wait", .value = "N"},
    [BURST] = {.name = "--burst", .value = "N"},
    [FLOWS] = {.name = "--flows", .value = "N"},
    [SRC] = {.name = "--src", .value = "ADDR[+N]"},
    [DST] = {.name = "--dst", .value = "ADDR[+N]"},
    [SPORT] = {.name = "--sport", .value = "P[+N]"},
    [DPORT] = {.name = "--dport", .value = "P[+N]"},
    [SRC_MAC] = {.name = "--src-mac", .value = "MAC"},
    [DST_MAC] = {.name = "--dst-mac", .value = "MAC"},
    [VLAN] = {.name = "--vlan", .value = "ID"},
    [VERIFY] = {.name = "--verify"},
    [COUNT] = {.name = "--count"},
    [LISTEN] = {.name = "--listen"},
    [REFLECT] = {.name = "--reflect"},
    [QUEUES] = {.name = "--queues", .value = "N"},
    [PACKETS] = {.name = "--packets", .value = "N"},
    [MTU] = {.name = "--mtu", .value = "N"},
    [LINK] = {.name = "--link", .value = "RATE"},
    [MAX_LOSS] = {.name = "--max-loss", .value = "SHARE"},
    [JSON] = {.name = "--json"},
    [CSV] = {.name = "--csv"},
    [INTERACTIVE] = {.name = "--interactive"},
    [HELP] = {.name = "--help", .alone = true},
    [HELP_SHORT] = {.name = "-h", .alone = true},
    [VERSION] = {.name = "--version", .alone = true},
    {.name = NULL},
};

struct parse {
    struct options *o;
    bool seconds; /* were given */
    char *err;
    size_t err_len;
};

static int ports_set(struct parse *p, const char *value)
{
    size_t len = strcspn(value, ",");
    const char *second = value[len] == ',' ? value + len + 1 : "";

    if (len == 0 || len >= OPTIONS_PORT_MAX || strlen(second) >= OPTIONS_PORT_MAX ||
        (value[len] == ',' && second[0] == '\0'))
        return option_wrong("--ports", value,
                            "write one name, or two with a comma between them, for example "
                            "net_memif0,net_memif1",
                            p->err, p->err_len);
    snprintf(p->o->port[0], OPTIONS_PORT_MAX, "%.*s", (int)len, value);
    snprintf(p->o->port[1], OPTIONS_PORT_MAX, "%s", second);
    return 0;
}

/* Reads a list with commas; each part is tried as a value of `key`. */
static int list_set(struct parse *p, const char *key, const char *value, char (*out)[PLAN_TEXT_MAX],
                    uint32_t *n)
{
    char err[PLAN_ERROR_MAX], option[16];
    struct plan trial = p->o->plan;

    snprintf(option, sizeof option, "--%s", key);
    for (*n = 0;; value++) {
        size_t len = strcspn(value, ",");

        if (*n == OPTIONS_LIST_MAX || len >= PLAN_TEXT_MAX)
            return option_wrong(option, value, "the list is too long; run more than once", p->err,
                                p->err_len);
        snprintf(out[*n], PLAN_TEXT_MAX, "%.*s", (int)len, value);
        if (plan_set(&trial, key, out[*n], err, sizeof err) != 0) {
            snprintf(p->err, p->err_len, "--%s", err);
            return -EINVAL;
        }
        ++*n;
        value += len;
        if (*value == '\0')
            break;
    }
    return 0;
}

static int plan_option_set(struct parse *p, int option, const char *value)
{
    char err[PLAN_ERROR_MAX];

    /* the key is the option's name without its dashes */
    if (plan_set(&p->o->plan, options[option].name + 2, value, err, sizeof err) == 0)
        return 0;
    snprintf(p->err, p->err_len, "--%s", err);
    return -EINVAL;
}

static int link_set(struct parse *p, const char *value)
{
    uint64_t rate_Bps;
    const char *what = value_rate(value, &rate_Bps);

    p->o->link_bps = (double)rate_Bps * 8;
    return what != NULL ? option_wrong("--link", value, what, p->err, p->err_len) : 0;
}

static int max_loss_set(struct parse *p, const char *value)
{
    uint64_t share = 0;
    const char *what = strcmp(value, "0") == 0 ? NULL : value_share(value, &share);

    p->o->max_loss = (double)share / 18446744073709551616.0;
    return what != NULL ? option_wrong("--max-loss", value, what, p->err, p->err_len) : 0;
}

static int valued_set(struct parse *p, int option, const char *value)
{
    struct options *o = p->o;

    p->seconds |= option == SECONDS;
    switch (option) {
    case PORTS:
        return ports_set(p, value);
    case SIZE:
        return list_set(p, "size", strcmp(value, "rfc2544") == 0 ? RFC2544 : value, o->sizes,
                        &o->n_sizes);
    case RATE:
        return list_set(p, "rate", value, o->rates, &o->n_rates);
    case QUEUES:
        return option_number("--queues", value, 1, STAMP_STREAMS / 2, &o->queues, p->err,
                             p->err_len);
    case PACKETS:
        return option_number("--packets", value, 1024, 1u << 22, &o->packets, p->err, p->err_len);
    case MTU:
        return option_number("--mtu", value, 68, STAMP_FRAME_MAX - RTE_ETHER_HDR_LEN, &o->mtu,
                             p->err, p->err_len);
    case LINK:
        return link_set(p, value);
    case MAX_LOSS:
        return max_loss_set(p, value);
    default:
        return plan_option_set(p, option, value);
    }
}

static int option_set(struct parse *p, int option, const char *value)
{
    struct options *o = p->o;

    if (value != NULL)
        return valued_set(p, option, value);
    o->both |= option == BOTH;
    o->verify |= option == VERIFY;
    o->count |= option == COUNT;
    o->interactive |= option == INTERACTIVE;
    o->help |= option == HELP || option == HELP_SHORT;
    o->version |= option == VERSION;
    if (option == LISTEN || option == REFLECT) {
        if (o->mode != MODE_SEND)
            return option_wrong("--listen", "--reflect", "choose one of them", p->err, p->err_len);
        o->mode = option == LISTEN ? MODE_LISTEN : MODE_REFLECT;
    }
    if (option == JSON || option == CSV)
        o->output = option == JSON ? OUTPUT_JSON : OUTPUT_CSV;
    return 0;
}

/* The longest frame of all windows that the command line asks for. */
static uint64_t frame_max(const struct options *o)
{
    uint64_t max = o->plan.mix.bytes_max;
    char err[PLAN_ERROR_MAX];
    struct mix mix;

    for (uint32_t i = 0; i < o->n_sizes; i++)
        if (mix_parse(&mix, o->sizes[i], err, sizeof err) == 0)
            max = RTE_MAX(max, mix.bytes_max);
    return max;
}

/* A window that a line describes begins with what the command line says, which is no list then. */
static int lines_check(struct parse *p)
{
    struct options *o = p->o;

    if (o->mode != MODE_SEND)
        return option_wrong("--interactive", o->mode == MODE_LISTEN ? "--listen" : "--reflect",
                            "these exclude each other; leave one out", p->err, p->err_len);
    if (o->n_sizes > 1 || o->n_rates > 1)
        return option_wrong("--interactive", o->n_sizes > 1 ? "a list of sizes" : "a list of rates",
                            "give one of them, and the others in lines", p->err, p->err_len);
    if (o->n_sizes > 0 && plan_set(&o->plan, "size", o->sizes[0], p->err, p->err_len) != 0)
        return -EINVAL;
    return o->n_rates > 0 ? plan_set(&o->plan, "rate", o->rates[0], p->err, p->err_len) : 0;
}

static int options_check(struct parse *p)
{
    struct options *o = p->o;

    if (o->mode != MODE_SEND && !p->seconds)
        o->plan.seconds = 0; /* until a signal */
    if (o->count &&
        (o->verify || o->mode != MODE_SEND || o->max_loss >= 0 || o->output == OUTPUT_CSV))
        return option_wrong("--count", "and --verify, --listen, --reflect, --max-loss or --csv",
                            "these need what it leaves out; leave one out", p->err, p->err_len);
    /* What one queue does not get, another one may have got. */
    if (o->mode == MODE_LISTEN && o->queues > 1)
        return option_wrong("--listen", "several queues",
                            "lost frames are told by their numbers; leave --queues out", p->err,
                            p->err_len);
    if (o->interactive && lines_check(p) != 0)
        return -EINVAL;
    if (o->mtu == 0)
        o->mtu = RTE_MAX(frame_max(o) - RTE_ETHER_HDR_LEN, MTU_STANDARD);
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len)
{
    struct parse p = {o, false, err, err_len};
    const char *value;
    int i, rc = 0;

    *o = (struct options){.queues = 1, .packets = 8191, .max_loss = -1};
    plan_init(&o->plan);
    for (i = option_first(options, argc, argv, &o->eal_argc); i < argc && rc >= 0; i++) {
        rc = option_take(options, argc, argv, &i, &value, "see sluice-load --help", err, err_len);
        if (rc >= 0)
            rc = option_set(&p, rc, value);
    }
    return rc < 0 ? rc : options_check(&p);
}
