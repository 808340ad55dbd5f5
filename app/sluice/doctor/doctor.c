/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice doctor: what this machine lacks for sluiced, and what cures it. */
#include "sluice/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include <jansson.h>

#include "console/text.h"
#include "sluice/command.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/ping/path_size.h"
#include "sluice/ping/probe.h"
#include "sluice/remote/program.h"
#include "sluice/say.h"
#include "sluice/view/table.h"
#include "sluice/view/view.h"

const char command_doctor_help[] =
    "usage: sluice doctor [--config FILE] [--json] [--quiet] [--socket PATH]\n"
    "                     [--daemon PROGRAM] [--peer HOST] [--root DIR]\n"
    "Checks the configuration, the daemon's socket, hugepages, ports, drivers, MTUs,\n"
    "permissions, memory locking, clocks, CPUs, and modes and owners of key files;\n"
    "whether workers on this machine share a CPU; whether another station has an\n"
    "address of the daemon; and which ports are not secured. Prints each problem\n"
    "with its cure. Changes nothing.\n"
    "\n"
    "      --config FILE     configuration of the daemon (/etc/sluice/sluiced.conf)\n"
    "      --json            print all findings as JSON\n"
    "  -q, --quiet           print only warnings and errors\n"
    "      --socket PATH     socket of the daemon ($SLUICE_SOCKET, or as configured)\n"
    "      --daemon PROGRAM  sluiced that checks the configuration (the one beside\n"
    "                        sluice, or else from PATH)\n"
    "      --peer HOST       also ask whether a daemon answers at HOST, and if not, say\n"
    "                        what stands in the way\n"
    "      --root DIR        check the files below DIR instead of this machine\n"
    "  -h, --help            show this help\n"
    "\n"
    "Exit status: 0 no errors (warnings are possible), 1 errors, 2 usage error.\n"
    "Manual: sluice(1).\n";

enum { DOCTOR_CONFIG = OPTIONS_OWN, DOCTOR_DAEMON, DOCTOR_PEER, DOCTOR_ROOT };

static const struct option longs[] = {
    {"config", required_argument, NULL, DOCTOR_CONFIG},
    {"daemon", required_argument, NULL, DOCTOR_DAEMON},
    {"peer", required_argument, NULL, DOCTOR_PEER},
    {"root", required_argument, NULL, DOCTOR_ROOT},
    {"json", no_argument, NULL, OPTIONS_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"socket", required_argument, NULL, OPTIONS_SOCKET},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The order counts: the configuration says where the daemon is and whether it polls, and later
 * checks depend on whether the daemon runs. */
void doctor_run(struct doctor *d)
{
    static void (*const checks[])(struct doctor * d) = {
        doctor_conf_read, doctor_config,   doctor_socket,    doctor_hugepages,
        doctor_ports,     doctor_rights,   doctor_locking,   doctor_clock,
        doctor_cpus,      doctor_workers,  doctor_addresses, doctor_keys,
        doctor_time,      doctor_security, doctor_files,     doctor_reach,
    };
    size_t i;

    for (i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](d);
}

struct report {
    unsigned bad, warnings;
    bool quiet;
    json_t *json; /* array of findings; NULL: they are printed as text */
};

static const char *level_name(enum doctor_level level)
{
    return level == DOCTOR_GOOD ? "good" : level == DOCTOR_WARNING ? "warning" : "bad";
}

static void report_take(void *ctx, const struct doctor_finding *f)
{
    struct report *r = ctx;
    char safe[2 * DOCTOR_TEXT];
    json_t *o;

    r->bad += f->level == DOCTOR_BAD;
    r->warnings += f->level == DOCTOR_WARNING;
    if (r->json == NULL) {
        if (r->quiet && f->level == DOCTOR_GOOD)
            return;
        printf("%-8s %s: %s\n", level_name(f->level), f->check,
               text_safe(safe, sizeof safe, f->text));
        if (f->cure[0] != 0)
            printf("    cure: %s\n", text_safe(safe, sizeof safe, f->cure));
        return;
    }
    o = json_object();
    json_object_set_new(o, "check", json_string(f->check));
    json_object_set_new(o, "level", json_string(level_name(f->level)));
    json_object_set_new(o, "text", json_string(text_safe(safe, sizeof safe, f->text)));
    json_object_set_new(o, "cure", json_string(text_safe(safe, sizeof safe, f->cure)));
    json_array_append_new(r->json, o);
}

static int report_end(struct report *r, bool as_json)
{
    if (as_json) {
        json_t *o = json_pack("{s:o,s:i,s:i}", "findings", r->json, "bad", (int)r->bad, "warnings",
                              (int)r->warnings);

        table_json(o, stdout);
        json_decref(o);
    } else if (!r->quiet) {
        printf("%u wrong, %u warnings\n", r->bad, r->warnings);
    }
    if (say_flush() != SAY_OK)
        return SAY_LOCAL;
    return r->bad > 0 ? SAY_TRANSFER : SAY_OK;
}

static json_t *daemon_ports(const char *socket)
{
    char err[512];
    struct sluice *s = NULL;
    json_t *rows;

    if (sluice_open(&s, socket, err, sizeof err) < 0)
        return NULL;
    rows = daemon_rows(s, "ports");
    sluice_close(s);
    return rows;
}

static int clock_synchronised(void)
{
    struct timex t = {0};
    int state = adjtimex(&t);

    return state < 0 ? -1 : state != TIME_ERROR && (t.status & STA_UNSYNC) == 0;
}

static int peer_probe(const char *socket, const char *host, struct probe *out,
                      struct path_size *size)
{
    struct loop l = {0};
    int rc = loop_open(&l, socket);

    if (rc != SAY_OK)
        return -ENOTCONN;
    for (int tries = 0; tries < 2; tries++) { /* the first may be lost while a key is agreed on */
        rc = probe_run(&l, host, PROBE_WAIT_NS, out);
        if (rc != 0 || out->status == 0)
            break;
    }
    *size = (struct path_size){0};
    if (rc == 0 && out->status == 0 && path_size_find(&l, host, out, size) == -ENOTCONN)
        rc = -ENOTCONN;
    loop_close(&l);
    return rc;
}

int command_doctor(int argc, char **argv)
{
    struct options o = {0};
    struct report r = {0};
    struct doctor d = {.root = "", .config = "/etc/sluice/sluiced.conf", .tell = report_take};
    char found[600];
    int opt;

    while ((opt = getopt_long(argc, argv, ":hq", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_doctor_help, stdout);
            return say_flush();
        }
        if (opt == DOCTOR_CONFIG)
            d.config = optarg;
        else if (opt == DOCTOR_DAEMON)
            d.daemon = optarg;
        else if (opt == DOCTOR_PEER)
            d.peer = optarg;
        else if (opt == DOCTOR_ROOT)
            d.root = optarg;
        else if (!options_take(&o, opt))
            return options_refused("doctor", argv, opt);
    }
    if (argc != optind)
        return options_wrong("doctor", "takes no arguments but options");
    if (d.root[0] != 0 && access(d.root, X_OK) != 0)
        return options_wrong("doctor", "--root names no folder");
    if (d.daemon == NULL)
        d.daemon = program_find("sluiced", found, sizeof found);
    d.socket = options_socket(&o);
    if (d.root[0] == 0) {
        d.ports = daemon_ports;
        d.synchronised = clock_synchronised;
        d.probe = peer_probe;
    }
    d.ctx = &r;
    r.quiet = o.quiet;
    r.json = o.json ? json_array() : NULL;
    doctor_run(&d);
    return report_end(&r, o.json);
}
