/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice verify: the command line, and what is printed at the end. */
#include "sluice/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/manifest/check.h"
#include "sluice/manifest/hasher.h"
#include "sluice/manifest/reader.h"
#include "sluice/options.h"
#include "sluice/say.h"

const char command_verify_help[] =
    "usage: sluice verify [OPTION...] MANIFEST [DIR]\n"
    "Checks the files in DIR (.) against a manifest: one that --manifest of sluice cp,\n"
    "sync, send or recv has written, or the output of xxhsum -H2; - is standard input.\n"
    "No daemon is needed. What is not right is printed, a word and a name in a line:\n"
    "missing, differs, unread, or extra.\n"
    "\n"
    "      --extra         also print files in DIR that the manifest does not have\n"
    "      --anywhere      trust the manifest: names may be absolute, have .., or lead\n"
    "                      through symbolic links\n"
    "      --threads N     files read at a time, 1 to 64 (one per processor, up to 8)\n"
    "      --json          print a summary as JSON on standard output, and the rest on\n"
    "                      standard error\n"
    "  -q, --quiet         print no progress bar, no final line and no notes\n"
    "  -v, --verbose       print what is right, too, and the final line even if stderr\n"
    "                      is not a terminal\n"
    "  -h, --help          show this help\n"
    "\n"
    "Exit status: 0 all is as listed, 1 something is not, or the manifest is incomplete,\n"
    "2 usage error, 5 the manifest is wrong, or something cannot be read, 7 out of\n"
    "memory. Manual: sluice(1).\n";

enum { OPT_EXTRA = OPTIONS_OWN, OPT_ANYWHERE, OPT_THREADS };

static const struct option longs[] = {
    {"json", no_argument, NULL, OPTIONS_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"extra", no_argument, NULL, OPT_EXTRA},
    {"anywhere", no_argument, NULL, OPT_ANYWHERE},
    {"threads", required_argument, NULL, OPT_THREADS},
    {NULL, 0, NULL, 0},
};

/* Returns OPTIONS_GO with optind at the manifest, or an exit code. */
static int verify_options(struct check *c, struct options *o, int argc, char **argv)
{
    int opt, code = SAY_OK;
    uint64_t n;

    while (code == SAY_OK && (opt = getopt_long(argc, argv, ":qvh", longs, NULL)) != -1) {
        switch (opt) {
        case 'h':
            fputs(command_verify_help, stdout);
            return say_flush();
        case OPT_EXTRA:
            c->extra = true;
            break;
        case OPT_ANYWHERE:
            c->anywhere = true;
            break;
        case OPT_THREADS:
            code = options_number("--threads", 1, HASHER_THREADS_MAX, &n);
            c->threads = (unsigned int)n;
            break;
        default:
            if (!options_take(o, opt))
                code = options_refused("verify", argv, opt);
            break;
        }
    }
    return code == SAY_OK ? OPTIONS_GO : code;
}

static void verify_json(const struct check *c, int code, double seconds)
{
    json_t *j = json_pack("{ss si sI sI sI sI sI sI sb sf}", "command", "verify", "exit", code,
                          "right", (json_int_t)c->right, "bytes", (json_int_t)c->bytes, "missing",
                          (json_int_t)c->missing, "differ", (json_int_t)c->differ, "unread",
                          (json_int_t)c->unread, "extra", (json_int_t)c->extras, "incomplete",
                          c->manifest->incomplete, "seconds", seconds);

    if (j == NULL || json_dumpf(j, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) < 0)
        say_error(SAY_LOCAL, "--json: the summary could not be written; make room");
    fputc('\n', stdout);
    json_decref(j);
}

static void verify_say(const struct check *c, double seconds)
{
    char bytes[32], rate[32];

    say_note("%" PRIu64 " right, %" PRIu64 " missing, %" PRIu64 " differ, %" PRIu64
             " unread, %" PRIu64 " extra; read %s in %.3f s, %s",
             c->right, c->missing, c->differ, c->unread, c->extras,
             text_bytes(bytes, sizeof bytes, (double)c->bytes), seconds,
             text_rate(rate, sizeof rate, seconds > 0 ? (double)c->bytes / seconds : 0));
}

/* Says what the flaws may come from. */
static void verify_hint(const struct check *c)
{
    if (c->right == 0 && c->differ == 0 && c->missing > 0)
        say_note("no file of the manifest is here; name the directory that was the target");
    else if (c->right == 0 && c->missing == 0 && c->differ > 1 && !c->manifest->ours)
        say_note("all files differ; is the manifest one of xxhsum -H2, and not of md5sum?");
    if (c->manifest->incomplete)
        say_note("the manifest is that of a run that failed: it does not list all files");
}

static int verify_run(struct check *c, const struct options *o, const char *path)
{
    uint64_t start_ns = loop_now();
    double seconds;
    int code;

    if (stat(path, &c->own) < 0)
        c->own.st_ino = 0;
    c->quiet = o->quiet || o->json;
    c->verbose = o->verbose;
    c->out = o->json ? stderr : stdout;
    c->terminal = isatty(fileno(c->out));
    code = check_run(c);
    if (code == SAY_OK && c->manifest->incomplete)
        code = SAY_TRANSFER;
    seconds = (double)(loop_now() - start_ns) / 1e9;
    fflush(c->out);
    if (!o->quiet)
        verify_hint(c);
    if (o->json)
        verify_json(c, code, seconds);
    if (options_talk(o))
        verify_say(c, seconds);
    return code;
}

int command_verify(int argc, char **argv)
{
    struct manifest manifest = {0};
    struct check c = {.manifest = &manifest, .dir = "."};
    struct options o = {0};
    int flushed, code = verify_options(&c, &o, argc, argv);

    if (code != OPTIONS_GO)
        return code;
    if (argc - optind < 1 || argc - optind > 2)
        return options_wrong("verify", "takes a manifest and a directory");
    if (argc - optind == 2)
        c.dir = argv[optind + 1];
    loop_signals();
    code = reader_read(&manifest, argv[optind], c.anywhere);
    if (code == SAY_OK)
        code = verify_run(&c, &o, argv[optind]);
    manifest_fini(&manifest);
    flushed = say_flush();
    return code == SAY_OK ? flushed : code;
}
