/* SPDX-License-Identifier: BSD-3-Clause */
/* See words.h. */
#include "console/words.h"

#include <stdio.h>
#include <string.h>

#include "base/value.h"

#define BOTH (WORDS_DAEMON | WORDS_BOX)

const struct grammar_command words_commands[] = {
    {"show conns", "connections: state, peer, grants, bytes, losses, round-trip time", WORDS_SHOW,
     WORDS_DAEMON},
    {"show conn CONN", "all details of one connection", WORDS_SHOW_CONN, WORDS_DAEMON},
    {"show grants", "grants of connections, their reasons, and overrides", WORDS_SHOW,
     WORDS_DAEMON},
    {"show spread", "variation of delays, rates and request latencies", WORDS_SHOW, WORDS_DAEMON},
    {"show capacity", "capacity of ports, and how much of it is granted", WORDS_SHOW, WORDS_DAEMON},
    {"show history", "latest changes of grants and capacities, with reasons", WORDS_SHOW,
     WORDS_DAEMON},
    {"show trace", "latest events of each worker", WORDS_SHOW, WORDS_DAEMON},
    {"dump trace", "the same as show trace, under testpmd's name for it", WORDS_SHOW, WORDS_DAEMON},
    {"show reload", "time and result of the latest reload of the configuration", WORDS_SHOW,
     WORDS_DAEMON},
    {"show workers", "load of the lcores", WORDS_SHOW, WORDS_DAEMON},
    {"show clients", "applications: process, user, memory, services", WORDS_SHOW, WORDS_DAEMON},
    {"show neigh", "neighbours: MAC addresses of IP addresses", WORDS_SHOW, WORDS_DAEMON},
    {"show peers", "peers with keys: state, last handshake, public key", WORDS_SHOW, WORDS_DAEMON},
    {"show port info|stats|xstats all|PORT",
     "ports: details, counters, or all counters of the driver", WORDS_SHOW, WORDS_DAEMON},
    {"show path", "paths of connections; in sluice-emu: the specs", WORDS_SHOW_PATH, BOTH},
    {"show stats", "statistics of each element of the paths", WORDS_SHOW_STATS, WORDS_BOX},
    {"start perf server|PEER [OPTIONS]", "starts a measurement in the background (sluice perf)",
     WORDS_START_PERF, WORDS_DAEMON},
    {"show perf", "progress of that measurement", WORDS_SHOW_PERF, WORDS_DAEMON},
    {"stop perf", "stops that measurement, and shows its result", WORDS_STOP_PERF, WORDS_DAEMON},
    {"clear port stats|xstats all|PORT", "resets the counters of show port stats and xstats",
     WORDS_CLEAR_STATS, WORDS_DAEMON},
    {"set conn CONN rate RATE|auto", "reserves this rate for the connection, and grants no more",
     WORDS_SET_CONN, WORDS_DAEMON},
    {"set conn CONN ceiling RATE|auto", "grants the connection no more than this rate",
     WORDS_SET_CONN, WORDS_DAEMON},
    {"set conn CONN burst SIZE|auto", "grants the connection this burst", WORDS_SET_CONN,
     WORDS_DAEMON},
    {"set conn CONN weight WEIGHT|auto", "sets the weight of the connection in a shared capacity",
     WORDS_SET_CONN, WORDS_DAEMON},
    {"set capacity RATE|none [PORT]", "limits the sum of a port's grants (default: each port)",
     WORDS_SET_CAPACITY, WORDS_DAEMON},
    {"set path PORT forward|reverse|both SPEC",
     "replaces the path of an emulated wire; \"wire\" is an empty path", WORDS_SET_PATH, BOTH},
    {"load FILE", "runs the commands in a file, up to the first that fails", WORDS_LOAD, BOTH},
    {"help [TOPIC]", "lists all commands, or those that begin with TOPIC", WORDS_HELP, BOTH},
    {"quit", "leaves the console; with option -i, also stops the program", WORDS_QUIT, BOTH},
    {NULL, NULL, 0, 0},
};

static const char *rate_check(const char *text)
{
    uint64_t rate;
    const char *why = value_rate(text, &rate);

    return why != NULL || (rate >= 1000 && rate <= 1ull << 48) ? why
                                                               : "it is not in 8kbit to 2250Tbit";
}

static const char *size_check(const char *text)
{
    uint64_t size;
    const char *why = value_size(text, &size);

    return why != NULL || (size > 0 && size <= 1ull << 30) ? why : "it is not in 1 to 1G";
}

static const char *weight_check(const char *text)
{
    uint64_t weight;
    const char *why = value_number(text, &weight);

    return why != NULL || (weight > 0 && weight <= 65535) ? why : "it is not in 1 to 65535";
}

static const char *port_check(const char *text)
{
    return strlen(text) < sizeof((struct words_conn *)NULL)->port ? NULL
                                                                  : "no port's name is that long";
}

static const char *peer_check(const char *text)
{
    if (text[0] == '-')
        return "options come after the peer";
    return strlen(text) < WORDS_PEER_MAX ? NULL : "no peer's name is that long";
}

static const char *conn_check(const char *text)
{
    struct words_conn conn;

    return words_conn_read(text, &conn);
}

const struct grammar_kind words_kinds[] = {
    {"RATE", "2.5Gbit or 300MB/s", false, rate_check},
    {"SIZE", "64k", false, size_check},
    {"WEIGHT", "3", false, weight_check},
    {"PORT", "net_memif0, or 0 for the first one", false, port_check},
    {"CONN", "3, or 3@net_memif0/1: connection 3 of the port's worker 1", false, conn_check},
    {"PEER", "192.0.2.20, or its name, or [2001:db8::20]:7001", false, peer_check},
    {"OPTIONS", "-t 60 -P 4", true, NULL},
    {"SPEC", "rate 1gbit delay 5ms", true, NULL},
    {"FILE", "/etc/sluice/evening.cmd", true, NULL},
    {"TOPIC", "show port", true, NULL},
    {NULL, NULL, false, NULL},
};

static const char *number_read(const char *text, uint32_t *out)
{
    uint64_t n;
    const char *why = value_number(text, &n);

    if (why == NULL && n >= WORDS_ANY)
        return "the number is too large";
    if (why == NULL)
        *out = (uint32_t)n;
    return why;
}

const char *words_conn_read(const char *text, struct words_conn *out)
{
    const char *at = strchr(text, '@'), *slash = at != NULL ? strrchr(at, '/') : NULL;
    char number[24];
    size_t len = at != NULL ? (size_t)(at - text) : strlen(text);

    *out = (struct words_conn){.worker = WORDS_ANY};
    if (len >= sizeof number)
        return "the number is too large";
    snprintf(number, sizeof number, "%.*s", (int)len, text);
    if (at != NULL) {
        size_t port = slash != NULL ? (size_t)(slash - at - 1) : strlen(at + 1);
        const char *why = slash != NULL ? number_read(slash + 1, &out->worker) : NULL;

        if (why != NULL)
            return why;
        if (port == 0 || port >= sizeof out->port)
            return "the name of a port comes after the @";
        snprintf(out->port, sizeof out->port, "%.*s", (int)port, at + 1);
    }
    return number_read(number, &out->number);
}
