/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice capture: the command line, which ports there are, and what is said at the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/value.h"
#include "console/text.h"
#include "sluice/capture/capture_run.h"
#include "sluice/command.h"
#include "sluice/options.h"
#include "sluice/say.h"
#include "sluice/view/table.h"
#include "sluice/view/view.h"

#define BUFFER_BYTES (16u << 20)
#define SECONDS_MAX  (1000ull * 24 * 3600)

const char command_capture_help[] =
    "usage: sluice capture [-i PORT]... [-w FILE] [-c N] [-t TIME] [-s SIZE] [-B SIZE]\n"
    "                      [--overwrite] [-q] [--json] [--socket PATH]\n"
    "Captures the packets of the daemon's ports, of both directions, into a pcapng file\n"
    "for Wireshark, until Ctrl-C. Only root and the user that runs sluiced may do this.\n"
    "\n"
    "  -i, --interface PORT  capture this port, by name or number (all ports)\n"
    "  -w, --write FILE      write to FILE, a new one, or to standard output (-)\n"
    "  -c, --count N         stop after N packets\n"
    "  -t, --time TIME       stop after this time, in seconds or as 500ms\n"
    "  -s, --snaplen SIZE    keep SIZE bytes of each packet, 1 to 64K (64K)\n"
    "  -B, --buffer SIZE     memory for packets that are not written yet, for each\n"
    "                        port (16M)\n"
    "      --overwrite       replace FILE if it exists\n"
    "  -q, --quiet           print only errors\n"
    "      --json            print the counts as JSON, at the end\n"
    "      --socket PATH     socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help            show this help\n"
    "\n"
    "Live:  sluice capture | wireshark -k -i -\n"
    "Exit status: 0 captured, 2 usage error, 3 no daemon, or it ended, 4 not permitted,\n"
    "5 the file cannot be written, 7 no memory or too many captures. Manual: sluice(1).\n";

enum {
    OPT_OVERWRITE = OPTIONS_OWN,
};

static const struct option longs[] = {
    OPTIONS_PLAIN,
    {"interface", required_argument, NULL, 'i'},
    {"write", required_argument, NULL, 'w'},
    {"count", required_argument, NULL, 'c'},
    {"time", required_argument, NULL, 't'},
    {"snaplen", required_argument, NULL, 's'},
    {"buffer", required_argument, NULL, 'B'},
    {"overwrite", no_argument, NULL, OPT_OVERWRITE},
    {"quiet", no_argument, NULL, 'q'},
    {NULL, 0, NULL, 0},
};

struct request {
    struct options common;
    const char *path;
    const char *ports[CAPTURE_PORTS_MAX]; /* names or numbers */
    uint32_t n_ports;                     /* 0: all */
    uint64_t count, time_ns, snap_bytes, buffer_bytes;
    bool overwrite;
};

/* ---- ports ------------------------------------------------------------------------------- */

static bool port_wanted(const struct request *q, const char *name, uint32_t number, bool *found)
{
    bool wanted = q->n_ports == 0;
    uint64_t n;

    for (uint32_t i = 0; i < q->n_ports; i++)
        if (strcmp(q->ports[i], name) == 0 ||
            (value_number(q->ports[i], &n) == NULL && n == number))
            found[i] = wanted = true;
    return wanted;
}

/* Finds the ports in the daemon's list. Returns an exit code. */
static int ports_find(struct capture *c, const struct request *q, const json_t *rows)
{
    bool found[CAPTURE_PORTS_MAX] = {false};
    char safe[64];
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        const char *driver = json_string_value(json_object_get(row, "driver"));
        struct capture_port *p = &c->ports[c->n_ports];

        if (name == NULL || c->n_ports == CAPTURE_PORTS_MAX ||
            !port_wanted(q, name, (uint32_t)i, found))
            continue;
        snprintf(p->name, sizeof p->name, "%s", name);
        snprintf(p->driver, sizeof p->driver, "%s", driver != NULL ? driver : "");
        p->rings.port = (uint32_t)i;
        c->n_ports++;
    }
    for (i = 0; i < q->n_ports; i++)
        if (!found[i])
            return say_error(SAY_USAGE, "no port %s; sluice show ports lists them",
                             text_safe(safe, sizeof safe, q->ports[i]));
    return c->n_ports > 0 ? SAY_OK : say_error(SAY_DAEMON, "the daemon has no ports");
}

static int ports_list(struct capture *c, const struct request *q)
{
    char err[256];
    int status;
    json_t *rows, *top = daemon_list(c->loop.session, "ports", &rows, &status, err, sizeof err);

    if (top == NULL)
        return say_error(say_code(status, false), "%s", err);
    status = ports_find(c, q, rows);
    json_decref(top);
    return status;
}

/* ---- the file and the end ------------------------------------------------------------------ */

static int file_open(struct capture *c, const struct request *q)
{
    int status = capture_file_open(&c->file, q->path, q->overwrite);
    char safe[300];

    text_safe(safe, sizeof safe, q->path);
    if (status == -ENOTTY)
        return say_error(SAY_USAGE, "standard output is a terminal; name a file with -w, or pipe "
                                    "into wireshark -k -i -");
    if (status == -EEXIST)
        return say_error(SAY_LOCAL, "%s exists; choose another name, or give --overwrite", safe);
    if (status != 0)
        return say_error(SAY_LOCAL, "cannot write %s: %s; choose another place with -w", safe,
                         strerror(-status));
    return SAY_OK;
}

static void counts_json(const struct capture *c, FILE *to)
{
    json_t *list = json_array(), *top;

    for (uint32_t i = 0; i < c->n_ports; i++)
        json_array_append_new(list, json_pack("{s:s,s:I,s:I}", "port", c->ports[i].name, "written",
                                              (json_int_t)c->file.interface_frames[i], "dropped",
                                              (json_int_t)capture_port_dropped(c, i)));
    top = json_pack("{s:I,s:o}", "written", (json_int_t)c->file.frames, "ports", list);
    table_json(top, to);
    json_decref(top);
}

static void counts_say(const struct capture *c)
{
    uint64_t dropped = 0;

    for (uint32_t i = 0; i < c->n_ports; i++)
        dropped += capture_port_dropped(c, i);
    say_note("%llu packets captured, %llu dropped%s", (unsigned long long)c->file.frames,
             (unsigned long long)dropped,
             dropped == 0 ? "" : ": give a larger buffer with -B, or keep fewer bytes with -s");
}

/* Reports how the capture ended. Returns the exit code. */
static int capture_tell(const struct capture *c, const struct request *q, int status)
{
    bool output = strcmp(q->path, "-") == 0, left = status == -EPIPE;
    char safe[300];

    text_safe(safe, sizeof safe, q->path);
    if (q->common.json)
        counts_json(c, output ? stderr : stdout);
    else if (!q->common.quiet)
        counts_say(c);
    if (left) /* the reader, as in `| head`, has seen enough */
        return SAY_OK;
    if (status != 0)
        return say_error(SAY_LOCAL,
                         "cannot write %s: %s; make room, or write elsewhere. %llu "
                         "packets are there",
                         safe, strerror(-status), (unsigned long long)c->file.frames);
    if (c->daemon_gone)
        return say_error(SAY_DAEMON, "%s", sluice_error(c->loop.session));
    if (c->broken)
        return say_error(SAY_DAEMON, "what the daemon copies are no packets: do versions differ?");
    return q->common.json && !output ? say_flush() : SAY_OK;
}

static int capture_all(struct capture *c, const struct request *q)
{
    int code = ports_list(c, q), status;

    if (code == SAY_OK)
        code = capture_begin(c, q->buffer_bytes, (uint32_t)q->snap_bytes);
    if (code == SAY_OK)
        code = file_open(c, q);
    if (code != SAY_OK)
        return code;
    if (options_talk(&q->common))
        say_note("capturing; Ctrl-C ends it");
    c->end_ns = q->time_ns > 0 ? loop_now() + q->time_ns : UINT64_MAX;
    c->count_max = q->count > 0 ? q->count : UINT64_MAX;
    capture_run(c, (uint32_t)q->snap_bytes);
    status = capture_file_close(&c->file);
    return capture_tell(c, q, status);
}

/* ---- the command line ---------------------------------------------------------------------- */

static int option_take(struct request *q, int opt)
{
    switch (opt) {
    case 'i':
        if (q->n_ports == CAPTURE_PORTS_MAX)
            return options_wrong("capture", "a daemon has at most 16 ports");
        q->ports[q->n_ports++] = optarg;
        return SAY_OK;
    case 'w':
        q->path = optarg;
        return SAY_OK;
    case 'c':
        return options_number("--count", 1, UINT64_MAX - 1, &q->count);
    case 't':
        return options_duration("--time", 1000000, SECONDS_MAX * CLOCK_NS_PER_S, &q->time_ns);
    case 's':
        return options_size("--snaplen", 1, CAPTURE_SNAP_MAX, &q->snap_bytes);
    case 'B':
        return options_size("--buffer", 1u << 20, CAPTURE_RING_MAX, &q->buffer_bytes);
    case OPT_OVERWRITE:
        q->overwrite = true;
        return SAY_OK;
    default:
        return options_take(&q->common, opt) ? SAY_OK : OPTIONS_GO;
    }
}

int command_capture(int argc, char **argv)
{
    static struct capture c; /* large */
    struct request q = {.path = "-", .snap_bytes = CAPTURE_SNAP_MAX, .buffer_bytes = BUFFER_BYTES};
    int opt, code;

    while ((opt = getopt_long(argc, argv, ":hqi:w:c:t:s:B:", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_capture_help, stdout);
            return say_flush();
        }
        code = option_take(&q, opt);
        if (code == OPTIONS_GO)
            return options_refused("capture", argv, opt);
        if (code != SAY_OK)
            return code;
    }
    if (argc != optind)
        return options_wrong("capture", "takes no arguments but options; -w names the file");
    code = loop_open(&c.loop, q.common.socket);
    if (code != SAY_OK)
        return code;
    code = capture_all(&c, &q);
    loop_close(&c.loop);
    return code;
}
