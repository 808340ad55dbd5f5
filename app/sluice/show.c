/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice show: what the daemon is doing, as tables for people or as the daemon's own JSON. */
#include "sluice/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/say.h"
#include "sluice/table.h"
#include "sluice/text.h"

static const char help[] =
    "usage: sluice show WHAT [--json] [--socket PATH]\n"
    "Shows what the daemon is doing.\n"
    "\n"
    "  conns     connections: state, peer, rates granted, bytes, units sent again or lost, RTT\n"
    "  ports     ports: addresses, link, traffic, losses\n"
    "  workers   lcores: how busy they are\n"
    "  capacity  what a port can absorb and what of it is granted\n"
    "  history   the latest grants and capacities, and why\n"
    "  trace     the latest events: opened, ended, grants, NAKs, silence, overruns\n"
    "  reload    when the configuration was last read anew, and what was wrong with it\n"
    "\n"
    "      --json         everything that the daemon tells, as JSON; units are in the names\n"
    "      --socket PATH  the daemon's socket ($SLUICE_SOCKET)\n"
    "\n"
    "Exit: 0 shown, 2 usage, 3 no daemon. See sluice(1).\n";

static const struct option longs[] = {
    {"json", no_argument, NULL, OPTIONS_JSON},
    {"socket", required_argument, NULL, OPTIONS_SOCKET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct table_column conns[] = {
    {"port", "PORT", TABLE_TEXT},
    {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},
    {"state", "STATE", TABLE_TEXT},
    {"peer", "PEER", TABLE_TEXT},
    {"service", "SERVICE", TABLE_COUNT},
    {"tx_rate_Bps", "TX GRANT", TABLE_RATE},
    {"tx_bytes", "SENT", TABLE_BYTES},
    {"tx_repeats", "REPEATED", TABLE_COUNT},
    {"rx_rate_Bps", "RX GRANT", TABLE_RATE},
    {"rx_why", "WHY", TABLE_TEXT},
    {"rx_momentary_Bps", "RX RATE", TABLE_RATE},
    {"rx_bytes", "RECEIVED", TABLE_BYTES},
    {"rx_lost", "LOST", TABLE_COUNT},
    {"rtt_ns", "RTT", TABLE_TIME},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column ports[] = {
    {"name", "NAME", TABLE_TEXT},
    {"driver", "DRIVER", TABLE_TEXT},
    {"link", "LINK", TABLE_TEXT},
    {"address", "ADDRESS", TABLE_TEXT},
    {"address6", "ADDRESS6", TABLE_TEXT},
    {"mac", "MAC", TABLE_TEXT},
    {"mtu_bytes", "MTU", TABLE_COUNT},
    {"capacity_Bps", "CAPACITY", TABLE_RATE},
    {"rx_packets", "RX PACKETS", TABLE_COUNT},
    {"rx_bytes", "RX BYTES", TABLE_BYTES},
    {"rx_missed", "MISSED", TABLE_COUNT},
    {"tx_packets", "TX PACKETS", TABLE_COUNT},
    {"tx_bytes", "TX BYTES", TABLE_BYTES},
    {"mbufs_in_use", "MBUFS", TABLE_COUNT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column workers[] = {
    {"lcore", "LCORE", TABLE_COUNT},   {"cpu", "CPU", TABLE_COUNT},
    {"idle", "IDLE MODE", TABLE_TEXT}, {"iterations", "ITERATIONS", TABLE_COUNT},
    {"busy_ns", "BUSY", TABLE_TIME},   {"idle_ns", "IDLE", TABLE_TIME},
    {"nap_ns", "ASLEEP", TABLE_TIME},  {"control_stalls", "CONTROL STALLS", TABLE_COUNT},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column capacity[] = {
    {"port", "PORT", TABLE_TEXT},
    {"capacity_Bps", "CEILING", TABLE_RATE},
    {"measured_Bps", "MEASURED", TABLE_RATE},
    {"measured_why", "BY", TABLE_TEXT},
    {"shared_Bps", "SHARED", TABLE_RATE},
    {"granted_Bps", "GRANTED", TABLE_RATE},
    {"overruns", "OVERRUNS", TABLE_COUNT},
    {"open_conns", "CONNS", TABLE_COUNT},
    {"received_bytes", "RECEIVED", TABLE_BYTES},
    {NULL, NULL, TABLE_TEXT},
};

static const struct table_column history[] = {
    {"ago_ns", "AGO", TABLE_TIME},      {"port", "PORT", TABLE_TEXT},
    {"decided", "DECIDED", TABLE_TEXT}, {"worker", "WORKER", TABLE_COUNT},
    {"conn", "CONN", TABLE_COUNT},      {"peer", "PEER", TABLE_TEXT},
    {"rate_Bps", "RATE", TABLE_RATE},   {"burst_bytes", "BURST", TABLE_BYTES},
    {"why", "WHY", TABLE_TEXT},         {"rx_Bps", "RX RATE", TABLE_RATE},
    {"lost", "LOST", TABLE_COUNT},      {NULL, NULL, TABLE_TEXT},
};

static const struct table_column trace[] = {
    {"ago_ns", "AGO", TABLE_TIME}, {"port", "PORT", TABLE_TEXT}, {"worker", "WORKER", TABLE_COUNT},
    {"text", "EVENT", TABLE_TEXT}, {NULL, NULL, TABLE_TEXT},
};

static const struct table_column reload[] = {
    {"number", "NUMBER", TABLE_COUNT}, {"ago_ns", "AGO", TABLE_TIME},  {"good", "GOOD", TABLE_FLAG},
    {"file", "FILE", TABLE_TEXT},      {"error", "ERROR", TABLE_TEXT}, {NULL, NULL, TABLE_TEXT},
};

static const struct {
    const char *what;
    const struct table_column *columns;
} shows[] = {
    {"conns", conns},       {"ports", ports},     {"workers", workers},
    {"capacity", capacity}, {"history", history}, {"trace", trace},
    {"reload", reload},
};

/* Prints what the daemon said about `what`. */
static int show_print(const char *what, const struct table_column *columns, const char *text)
{
    json_error_t error;
    json_t *top = json_loads(text, 0, &error);
    const json_t *rows = json_object_get(top, what);

    if (!json_is_array(rows)) {
        json_decref(top);
        return say_error(SAY_DAEMON, "the daemon's answer makes no sense; use the same version of "
                                     "sluice and sluiced");
    }
    table_print(rows, columns, stdout);
    json_decref(top);
    return say_flush();
}

static int show_run(const struct options *o, const char *what, const struct table_column *columns)
{
    struct loop l = {0};
    char *text = NULL;
    int err, code = loop_open(&l, o->socket);

    if (code != SAY_OK)
        return code;
    err = sluice_show(l.session, what, &text);
    if (err < 0)
        code = say_error(SAY_DAEMON, "%s", sluice_error(l.session));
    else if (o->json)
        code = puts(text) < 0 ? SAY_LOCAL : say_flush();
    else
        code = show_print(what, columns, text);
    free(text);
    loop_close(&l);
    return code;
}

int command_show(int argc, char **argv)
{
    struct options o = {0};
    char safe[64];
    size_t i;
    int opt;

    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return say_flush();
        }
        if (!options_take(&o, opt))
            return options_refused("show", argv, opt);
    }
    if (argc - optind != 1)
        return options_wrong(
            "show", "name one of conns, ports, workers, capacity, history, trace, reload");
    for (i = 0; i < sizeof shows / sizeof *shows; i++) {
        if (strcmp(argv[optind], shows[i].what) == 0)
            return show_run(&o, shows[i].what, shows[i].columns);
    }
    return say_error(
        SAY_USAGE,
        "show %s: not known; name one of conns, ports, workers, capacity, history, trace, reload",
        text_safe(safe, sizeof safe, argv[optind]));
}
