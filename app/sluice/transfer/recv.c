/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice recv: the command line. */
#include "sluice/command.h"

#include <stdio.h>
#include <stdlib.h>

#include "sluice/say.h"
#include "sluice/transfer/receiver.h"

const char command_recv_help[] =
    "usage: sluice recv [OPTION...]\n"
    "Receives files from one or more \"sluice send\", until a signal ends it.\n"
    "\n"
    "  -o, --output WHERE  directory, file, or - for standard output (.); a file or -\n"
    "                      takes one file, then sluice recv exits\n"
    "  -p, --port PORT     service number to listen on, 1 to 65535 (7000); 0: any free\n"
    "                      one, which is printed\n"
    "      --once          exit after one sender\n"
    "      --count N       exit after N senders\n"
    "      --senders N     serve up to N senders at the same time, 1 to 64 (8)\n"
    "      --buffers N     requests of 4 MiB posted per sender, 1 to 64 (8)\n"
    "      --overwrite     replace existing files (by default they are kept, the\n"
    "                      sender gets an error, and the exit status is 5)\n"
    "      --max-size SIZE refuse larger files, as 500M or 2G (the size of the file\n"
    "                      system; no limit for -o -)\n"
    "      --fsync         write each file to the disk before it gets its name\n"
    "      --direct        write large files past the page cache\n"
    "      --keep-partial TIME  how long to keep what has come of a file when its sender\n"
    "                      is cut off, for send --resume: 10min, 24h (24h); 0: not\n"
    "      --bwlimit RATE  move at most this much: 500Mbit, 60MB/s (0: no limit)\n"
    "      --rate CALENDAR  by time of day: '80% until 08:00, then 10%' of the port\n"
    "      --manifest FILE  list what has arrived with its hashes, for sluice verify\n"
    "      --rates FILE    write a line of CSV every 10 ms: bytes and rates\n"
    "      --json          print a summary of each sender as a line of JSON on stdout\n"
    "      --json-stream   print a line of JSON for each file, and each 0.2 s, too\n"
    "  -q, --quiet         print no progress bar, no final line and no notes\n"
    "  -v, --verbose       report when ready and print the final line even if stderr\n"
    "                      is not a terminal\n"
    "      --socket PATH   socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help          show this help\n"
    "\n"
    "Exit status: 0 all files arrived, 1 transfer failed, 2 usage error, 3 no daemon,\n"
    "5 local file error, 7 port in use or not for this user, or out of memory, quota\n"
    "or other resources.\n"
    "Manual: sluice(1).\n";

enum {
    OPT_ONCE = OPTIONS_OWN,
    OPT_COUNT,
    OPT_SENDERS,
    OPT_BUFFERS,
    OPT_OVERWRITE,
    OPT_FSYNC,
    OPT_MAX_SIZE,
    OPT_KEEP,
    OPT_MANIFEST,
    OPT_DIRECT,
};

static const struct option longs[] = {
    OPTIONS_LONG,
    ALLOWANCE_LONG,
    {"json-stream", no_argument, NULL, OPTIONS_JSON_STREAM},
    {"output", required_argument, NULL, 'o'},
    {"port", required_argument, NULL, 'p'},
    {"once", no_argument, NULL, OPT_ONCE},
    {"count", required_argument, NULL, OPT_COUNT},
    {"senders", required_argument, NULL, OPT_SENDERS},
    {"buffers", required_argument, NULL, OPT_BUFFERS},
    {"overwrite", no_argument, NULL, OPT_OVERWRITE},
    {"fsync", no_argument, NULL, OPT_FSYNC},
    {"direct", no_argument, NULL, OPT_DIRECT},
    {"max-size", required_argument, NULL, OPT_MAX_SIZE},
    {"keep-partial", required_argument, NULL, OPT_KEEP},
    {"manifest", required_argument, NULL, OPT_MANIFEST},
    {NULL, 0, NULL, 0},
};

struct recv {
    struct receiver_options options;
    const char *manifest; /* path; NULL: none is written */
    struct writer writer;
};

static int recv_option(struct recv *v, char **argv, int opt)
{
    struct receiver_options *o = &v->options;
    uint64_t n = 0;
    int code = SAY_OK;

    switch (opt) {
    case 'o':
        o->output = optarg;
        break;
    case 'p':
        code = options_number("--port", 0, 65535, &n);
        o->port = (uint16_t)n;
        break;
    case OPT_ONCE:
        o->count = 1;
        break;
    case OPT_COUNT:
        code = options_number("--count", 1, UINT64_MAX, &o->count);
        break;
    case OPT_SENDERS:
        code = options_number("--senders", 1, RECEIVER_INCOMING_MAX / 2, &n);
        o->senders = (uint32_t)n;
        break;
    case OPT_BUFFERS:
        code = options_number("--buffers", 1, BUFFERS_MAX, &n);
        o->slots = (uint32_t)n;
        break;
    case OPT_OVERWRITE:
        o->overwrite = true;
        break;
    case OPT_FSYNC:
        o->fsync = true;
        break;
    case OPT_DIRECT:
        o->direct = true;
        break;
    case OPTIONS_BWLIMIT:
    case OPTIONS_RATE:
        code = allowance_option(&o->allowance, opt);
        break;
    case OPT_MANIFEST:
        v->manifest = optarg;
        break;
    case OPT_KEEP:
        code = options_keep(&o->keep_s);
        break;
    case OPT_MAX_SIZE:
        code = options_size("--max-size", 1, INT64_MAX, &o->max_bytes);
        break;
    default:
        code = options_refused("recv", argv, opt);
        break;
    }
    return code;
}

/* Receives. Returns an exit code. */
static int recv_run(struct recv *v)
{
    struct receiver *r = calloc(1, sizeof *r);
    int code;

    if (r == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    code = writer_open(&v->writer, v->manifest);
    v->options.manifest = &v->writer;
    if (code == SAY_OK)
        code = receiver_run(r, &v->options);
    free(r);
    return writer_close(&v->writer, code, v->options.common.quiet);
}

int command_recv(int argc, char **argv)
{
    struct recv v = {.options = {.output = ".",
                                 .port = SLUICE_PORT_DEFAULT,
                                 .slots = 8,
                                 .senders = 8,
                                 .keep_s = OPTIONS_KEEP_S}};
    int opt, code = SAY_OK;

    while (code == SAY_OK && (opt = getopt_long(argc, argv, ":o:p:qvh", longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(command_recv_help, stdout);
            return say_flush();
        }
        if (!options_take(&v.options.common, opt))
            code = recv_option(&v, argv, opt);
    }
    if (code != SAY_OK)
        return code;
    if (optind < argc)
        return options_wrong("recv", "takes no arguments but options; give the output with -o");
    return recv_run(&v);
}
