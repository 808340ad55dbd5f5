/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice send: the command line, and the checks before anything is sent. */
#include "sluice/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sluice/files/name.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"

const char command_send_help[] =
    "usage: sluice send [OPTION...] FILE|DIR|- [...] HOST[:PORT]\n"
    "Sends files to \"sluice recv\" on HOST; - is standard input. HOST is a name, an\n"
    "IPv4 address, or an IPv6 address in brackets; PORT is a service number (7000).\n"
    "\n"
    "  -r, --recursive    send directories with their contents\n"
    "      --name NAME    name of standard input at the receiver (stdin)\n"
    "      --resume       send only what the receiver does not have: what an interrupted\n"
    "                     transfer has left is completed\n"
    "      --wait TIME    wait so long for a receiver that is not there yet: 10, 2min\n"
    "      --buffers N    requests of 4 MiB in flight, 1 to 64 (8)\n"
    "  -P, --streams N    use N connections, 1 to 16 (by workers, cores and size)\n"
    "      --direct       read large files past the page cache\n"
    "      --go-back-N    repair losses by go-back-N instead of selective repeat\n"
    "      --bwlimit RATE  move at most this much: 500Mbit, 60MB/s (0: no limit)\n"
    "      --rate CALENDAR  by time of day: '80% until 08:00, then 10%' of the port\n"
    "      --manifest FILE  list what the receiver has with its hashes, for sluice\n"
    "                     verify\n"
    "      --rates FILE   write a line of CSV every 10 ms: bytes and rates\n"
    "      --json         print a summary as JSON on standard output\n"
    "      --json-stream  print a line of JSON for each file, and each 0.2 s, too\n"
    "  -q, --quiet        print no progress bar, no final line and no notes\n"
    "  -v, --verbose      print the final line even if stderr is not a terminal\n"
    "      --socket PATH  socket of the daemon ($SLUICE_SOCKET)\n"
    "  -h, --help         show this help\n"
    "\n"
    "Exit status: 0 all files arrived, 1 transfer failed, 2 usage error, 3 no daemon,\n"
    "4 peer unknown, unreachable or refusing, 5 local file error, 6 file error at the\n"
    "receiver, 7 out of memory, quota or other resources. Manual: sluice(1).\n";

#define WAIT_MAX_NS (7ull * 24 * 3600 * CLOCK_NS_PER_S)

enum {
    OPT_NAME = OPTIONS_OWN,
    OPT_RESUME,
    OPT_WAIT,
    OPT_BUFFERS,
    OPT_GO_BACK_N,
    OPT_MANIFEST,
    OPT_DIRECT
};

static const struct option longs[] = {
    OPTIONS_LONG,
    ALLOWANCE_LONG,
    {"json-stream", no_argument, NULL, OPTIONS_JSON_STREAM},
    {"recursive", no_argument, NULL, 'r'},
    {"name", required_argument, NULL, OPT_NAME},
    {"resume", no_argument, NULL, OPT_RESUME},
    {"wait", required_argument, NULL, OPT_WAIT},
    {"buffers", required_argument, NULL, OPT_BUFFERS},
    {"streams", required_argument, NULL, 'P'},
    {"direct", no_argument, NULL, OPT_DIRECT},
    {"go-back-N", no_argument, NULL, OPT_GO_BACK_N},
    {"manifest", required_argument, NULL, OPT_MANIFEST},
    {NULL, 0, NULL, 0},
};

/* *manifest: the path, if there is one. */
static int send_options(struct sender_options *o, const char **manifest, int argc, char **argv)
{
    uint64_t n;
    int opt, code = SAY_OK;

    while (code == SAY_OK && (opt = getopt_long(argc, argv, ":rP:qvh", longs, NULL)) != -1) {
        if (options_take(&o->common, opt))
            continue;
        switch (opt) {
        case 'h':
            fputs(command_send_help, stdout);
            return -1;
        case 'r':
            o->recursive = true;
            break;
        case OPT_NAME:
            o->name = optarg;
            if (name_check(optarg, strlen(optarg)) != NULL)
                code = say_error(SAY_USAGE, "--name: %s; choose another",
                                 name_check(optarg, strlen(optarg)));
            break;
        case OPT_RESUME:
            o->resume = true;
            break;
        case OPT_WAIT:
            code = options_duration("--wait", 0, WAIT_MAX_NS, &o->wait_ns);
            break;
        case OPTIONS_BWLIMIT:
        case OPTIONS_RATE:
            code = allowance_option(&o->allowance, opt);
            break;
        case OPT_BUFFERS:
            code = options_number("--buffers", 1, BUFFERS_MAX, &n);
            o->slots = (uint32_t)n;
            break;
        case 'P':
            code = options_number("--streams", 1, RECORD_STREAMS_MAX, &n);
            o->streams = (uint32_t)n;
            break;
        case OPT_MANIFEST:
            *manifest = optarg;
            break;
        case OPT_DIRECT:
            o->direct = true;
            break;
        case OPT_GO_BACK_N:
            o->go_back_n = true;
            break;
        default:
            return options_refused("send", argv, opt);
        }
    }
    return code;
}

/* Sends, after the checks. Returns an exit code. */
static int send_run(struct sender_options o, const char *manifest, uint64_t total_bytes)
{
    struct sender *s = calloc(1, sizeof *s);
    struct writer writer;
    int code;

    if (s == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    s->total_bytes = total_bytes;
    code = writer_open(&writer, manifest);
    o.manifest = &writer;
    if (code == SAY_OK)
        code = sender_run(s, &o);
    free(s);
    return writer_close(&writer, code, o.common.quiet);
}

int command_send(int argc, char **argv)
{
    struct sender_options o = {.slots = 8, .name = "stdin"};
    const char *manifest = NULL;
    uint64_t total_bytes = 0;
    int code = send_options(&o, &manifest, argc, argv);

    if (code != SAY_OK)
        return code < 0 ? say_flush() : code;
    if (argc - optind < 2)
        return options_wrong("send", argc == optind ? "files and host are missing"
                                                    : "a file or the host is missing");
    o.host = argv[argc - 1];
    o.paths = argv + optind;
    o.n_paths = argc - optind - 1;
    code = sender_check(&o, &total_bytes);
    return code != SAY_OK ? code : send_run(o, manifest, total_bytes);
}
