/* SPDX-License-Identifier: BSD-3-Clause */
/* sluice cp and sluice sync: the command lines. */
#include "sluice/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/sluice.h"
#include "console/text.h"
#include "sluice/cp/between.h"
#include "sluice/cp/near.h"
#include "sluice/cp/operand.h"
#include "sluice/cp/rsh.h"
#include "sluice/cp/server.h"
#include "sluice/files/name.h"
#include "sluice/request/buffers.h"
#include "sluice/say.h"

#define OWN_WORDS 4 /* behind those of --rsh: host, program, "cp", "--server" */

const char command_cp_help[] =
    "usage: sluice cp [OPTION...] SRC... DST\n"
    "Copies files to or from another host, or from one to another. All SRC, DST or\n"
    "both are on other hosts, written as [USER@]HOST:PATH. A file whose name has a\n"
    "colon is ./NAME. The remote shell, ssh, starts sluice there; a daemon runs on both\n"
    "hosts, and need not run here if both are others.\n"
    "\n"
    "  -r, --recursive     copy directories with their contents\n"
    "  -p, --preserve      keep modes and times, which is done without it, too\n"
    "      --overwrite     replace existing files (by default they are kept, and the\n"
    "                      exit status is 5 or 6)\n"
    "      --resume        send only what DST does not have yet, as after a cut\n"
    "      --keep-partial TIME  how long to keep what has come of a file when the copy\n"
    "                      is cut off: 10min, 24h (24h); 0: not at all\n"
    "  -e, --rsh COMMAND   remote shell, with its options ($SLUICE_RSH, or ssh)\n"
    "      --remote-path PROGRAM  sluice on the other host (sluice)\n"
    "      --address ADDRESS  connect to this address of the receiving host (one in a\n"
    "                      network that both daemons have, or behind a gateway)\n"
    "      --port PORT     service number of the receiving host (0: any free one)\n"
    "      --name NAME     name that standard input, SRC -, gets in a directory (stdin)\n"
    "      --max-size SIZE refuse larger files, as 500M or 2G\n"
    "      --fsync         write each file to the disk before it gets its name\n"
    "      --direct        read and write large files past the page cache\n"
    "      --buffers N     requests of 4 MiB in flight, 1 to 64 (8)\n"
    "  -P, --streams N     use N connections, 1 to 16 (by workers, cores and size)\n"
    "      --go-back-N     repair losses by go-back-N instead of selective repeat\n"
    "      --bwlimit RATE  move at most this much: 500Mbit, 60MB/s (0: no limit)\n"
    "      --rate CALENDAR  by time of day: '80% until 08:00, then 10%' of the port\n"
    "      --manifest FILE  list what DST has with its hashes, for sluice verify\n"
    "      --rates FILE    write a line of CSV every 10 ms: bytes and rates\n"
    "      --json          print a summary as JSON on standard output\n"
    "      --json-stream   print a line of JSON for each file, and each 0.2 s, too\n"
    "  -q, --quiet         print no progress bar, no final line and no notes\n"
    "  -v, --verbose       print the final line even if stderr is not a terminal\n"
    "      --socket PATH   socket of the daemon here ($SLUICE_SOCKET)\n"
    "  -h, --help          show this help\n"
    "\n"
    "Exit status: 0 all files arrived, 1 transfer failed, 2 usage error, 3 no daemon\n"
    "here, 4 other host unknown, unreachable, refusing or without a daemon, 5 error of\n"
    "a file here, 6 error of a file there, 7 out of memory, quota or other resources.\n"
    "With both on other hosts, \"here\" is where SRC are. Manual: sluice(1).\n";

const char command_sync_help[] =
    "usage: sluice sync [OPTION...] SRC... DST\n"
    "Makes the directory DST have what SRC have, and sends only what differs. All SRC,\n"
    "DST or both are on other hosts, written as [USER@]HOST:PATH. Of SRC/, with a\n"
    "slash, what is in it goes into DST; without one, SRC itself does. The remote\n"
    "shell, ssh, starts sluice there; a daemon runs on both hosts, and need not run\n"
    "here if both are others.\n"
    "\n"
    "  -n, --dry-run       change nothing; print what would change, as -i does\n"
    "  -i, --itemize       print a line for each change, with rsync's letters\n"
    "  -c, --checksum      compare contents, not sizes and times\n"
    "  -W, --whole-file    send a changed file whole, without looking for what of it\n"
    "                      DST has already\n"
    "  -r, --recursive     done without it, too, as are -l, -p and -t of rsync\n"
    "  -a, --archive       keep owners and groups: -o and -g\n"
    "  -o, --owner         keep owners, by name (only root gives files away)\n"
    "  -g, --group         keep groups, by name\n"
    "      --numeric-ids   keep owners and groups by number\n"
    "  -H, --hard-links    keep files with several names as one file\n"
    "  -A, --acls          keep ACLs\n"
    "  -X, --xattrs        keep extended attributes (as root, not only those of users)\n"
    "      --delete        then delete in DST what SRC do not have\n"
    "      --delete-before delete first, so that there is room for what is sent\n"
    "      --exclude PATTERN  leave out what matches, as *.o, /build/ or a/**/b\n"
    "      --include PATTERN  take what matches: of both, the first one decides\n"
    "      --exclude-from FILE  exclude each line of FILE\n"
    "      --include-from FILE  include each line of FILE\n"
    "      --files-from FILE  only what the lines of FILE name, relative to SRC\n"
    "      --keep-partial TIME  how long to keep what has come of a file when the sync\n"
    "                      is cut off: 10min, 24h (24h); 0: not at all\n"
    "  -e, --rsh COMMAND   remote shell, with its options ($SLUICE_RSH, or ssh)\n"
    "      --remote-path PROGRAM  sluice on the other host (sluice)\n"
    "      --address ADDRESS  connect to this address of the receiving host (one in a\n"
    "                      network that both daemons have, or behind a gateway)\n"
    "      --port PORT     service number of the receiving host (0: any free one)\n"
    "      --max-size SIZE refuse larger files, as 500M or 2G\n"
    "      --fsync         write each file to the disk before it gets its name\n"
    "      --direct        read and write large files past the page cache\n"
    "      --buffers N     requests of 4 MiB in flight, 1 to 64 (8)\n"
    "  -P, --streams N     use N connections, 1 to 16 (by workers, cores and size)\n"
    "      --go-back-N     repair losses by go-back-N instead of selective repeat\n"
    "      --bwlimit RATE  move at most this much: 500Mbit, 60MB/s (0: no limit)\n"
    "      --rate CALENDAR  by time of day: '80% until 08:00, then 10%' of the port\n"
    "      --manifest FILE  list what DST has with its hashes, for sluice verify\n"
    "      --rates FILE    write a line of CSV every 10 ms: bytes and rates\n"
    "      --json          print a summary as JSON on standard output\n"
    "      --json-stream   print a line of JSON for each file, and each 0.2 s, too\n"
    "  -q, --quiet         print no progress bar, no final line and no notes\n"
    "  -v, --verbose       print the final line even if stderr is not a terminal\n"
    "      --socket PATH   socket of the daemon here ($SLUICE_SOCKET)\n"
    "  -h, --help          show this help\n"
    "\n"
    "Exit status: 0 DST is as SRC, 1 transfer failed, 2 usage error, 3 no daemon\n"
    "here, 4 other host unknown, unreachable, refusing or without a daemon, 5 error of\n"
    "a file here, 6 error of a file there, 7 out of memory, quota or other resources.\n"
    "With both on other hosts, \"here\" is where SRC are. Manual: sluice(1).\n";

enum {
    OPT_OVERWRITE = OPTIONS_OWN,
    OPT_RESUME,
    OPT_KEEP,
    OPT_REMOTE_PATH,
    OPT_ADDRESS,
    OPT_PORT,
    OPT_NAME,
    OPT_MAX_SIZE,
    OPT_FSYNC,
    OPT_BUFFERS,
    OPT_GO_BACK_N,
    OPT_SERVER,
    OPT_DELETE,
    OPT_DELETE_BEFORE,
    OPT_EXCLUDE,
    OPT_INCLUDE,
    OPT_EXCLUDE_FROM,
    OPT_INCLUDE_FROM,
    OPT_FILES_FROM,
    OPT_NUMERIC,
    OPT_MANIFEST,
    OPT_DIRECT,
};

/* What both commands take. */
#define BOTH                                                                                       \
    OPTIONS_LONG, ALLOWANCE_LONG, {"keep-partial", required_argument, NULL, OPT_KEEP},             \
        {"json-stream", no_argument, NULL, OPTIONS_JSON_STREAM},                                   \
        {"rsh", required_argument, NULL, 'e'},                                                     \
        {"remote-path", required_argument, NULL, OPT_REMOTE_PATH},                                 \
        {"address", required_argument, NULL, OPT_ADDRESS},                                         \
        {"port", required_argument, NULL, OPT_PORT},                                               \
        {"max-size", required_argument, NULL, OPT_MAX_SIZE},                                       \
        {"fsync", no_argument, NULL, OPT_FSYNC}, {"direct", no_argument, NULL, OPT_DIRECT},        \
        {"manifest", required_argument, NULL, OPT_MANIFEST},                                       \
        {"buffers", required_argument, NULL, OPT_BUFFERS},                                         \
        {"streams", required_argument, NULL, 'P'},                                                 \
    {                                                                                              \
        "go-back-N", no_argument, NULL, OPT_GO_BACK_N                                              \
    }

static const struct option sync_longs[] = {
    BOTH,
    {"dry-run", no_argument, NULL, 'n'},
    {"itemize", no_argument, NULL, 'i'},
    {"checksum", no_argument, NULL, 'c'},
    {"whole-file", no_argument, NULL, 'W'},
    {"recursive", no_argument, NULL, 'r'},
    {"archive", no_argument, NULL, 'a'},
    {"owner", no_argument, NULL, 'o'},
    {"group", no_argument, NULL, 'g'},
    {"numeric-ids", no_argument, NULL, OPT_NUMERIC},
    {"hard-links", no_argument, NULL, 'H'},
    {"acls", no_argument, NULL, 'A'},
    {"xattrs", no_argument, NULL, 'X'},
    {"delete", no_argument, NULL, OPT_DELETE},
    {"delete-before", no_argument, NULL, OPT_DELETE_BEFORE},
    {"exclude", required_argument, NULL, OPT_EXCLUDE},
    {"include", required_argument, NULL, OPT_INCLUDE},
    {"exclude-from", required_argument, NULL, OPT_EXCLUDE_FROM},
    {"include-from", required_argument, NULL, OPT_INCLUDE_FROM},
    {"files-from", required_argument, NULL, OPT_FILES_FROM},
    {NULL, 0, NULL, 0},
};

static const struct option cp_longs[] = {
    BOTH,
    {"recursive", no_argument, NULL, 'r'},
    {"preserve", no_argument, NULL, 'p'},
    {"overwrite", no_argument, NULL, OPT_OVERWRITE},
    {"resume", no_argument, NULL, OPT_RESUME},
    {"name", required_argument, NULL, OPT_NAME},
    {"server", no_argument, NULL, OPT_SERVER},
    {NULL, 0, NULL, 0},
};

struct cp {
    const char *command; /* "cp" or "sync" */
    struct near_options near;
    struct sync_options sync;
    struct filter filter;
    struct chosen chosen;
    struct address address;
    char host[OPERAND_HOST_MAX]; /* the other host; of two, the one that receives */
    char from[OPERAND_HOST_MAX]; /* of two other hosts, the one that sends; "": there is one */
    const char *rsh, *remote_path;
    char *words[RSH_WORDS_MAX + OWN_WORDS + 1];      /* of the command that starts the far end */
    char *from_words[RSH_WORDS_MAX + OWN_WORDS + 1]; /* of the one that starts that of `from` */
    bool server;
};

/* Options whose value is a word. */
static int cp_word(struct cp *c, int opt)
{
    const char *wrong;
    char safe[64];

    switch (opt) {
    case 'e':
        c->rsh = optarg;
        return SAY_OK;
    case OPT_REMOTE_PATH:
        c->remote_path = optarg;
        return SAY_OK;
    case OPT_MANIFEST:
        c->near.manifest = optarg;
        return SAY_OK;
    case OPT_ADDRESS:
        c->near.address = &c->address;
        if (address_parse(&c->address, optarg) && strchr(optarg, '/') == NULL)
            return SAY_OK;
        return say_error(SAY_USAGE,
                         "--address %s: is no address; write it like 192.0.2.20 or fd00::2",
                         text_safe(safe, sizeof safe, optarg));
    default: /* OPT_NAME */
        c->near.name = optarg;
        wrong = name_check(optarg, strlen(optarg));
        return wrong == NULL ? SAY_OK : say_error(SAY_USAGE, "--name: %s; choose another", wrong);
    }
}

/* Options that say what takes part. Returns an exit code. */
static int cp_rule(struct cp *c, int opt)
{
    bool include = opt == OPT_INCLUDE || opt == OPT_INCLUDE_FROM;
    const char *wrong;

    if (opt == OPT_FILES_FROM) {
        c->sync.chosen = &c->chosen;
        return chosen_read(&c->chosen, optarg);
    }
    c->sync.filter = &c->filter;
    if (opt == OPT_EXCLUDE_FROM || opt == OPT_INCLUDE_FROM)
        return filter_read(&c->filter, optarg, include);
    wrong = filter_option(&c->filter, optarg, include);
    return wrong == NULL ? SAY_OK
                         : say_error(SAY_USAGE, "--%s: %s", include ? "include" : "exclude", wrong);
}

/* Options that say what is kept of files besides content, mode and time. False: it is none of them.
 */
static bool cp_attributes(struct cp *c, int opt)
{
    static const struct {
        int opt;
        uint32_t attributes;
    } choices[] = {{'a', ATTRIBUTES_OWNERS | ATTRIBUTES_GROUPS},
                   {'o', ATTRIBUTES_OWNERS},
                   {'g', ATTRIBUTES_GROUPS},
                   {OPT_NUMERIC, ATTRIBUTES_NUMERIC},
                   {'H', ATTRIBUTES_LINKS},
                   {'A', ATTRIBUTES_ACLS},
                   {'X', ATTRIBUTES_XATTRS}};
    size_t i;

    for (i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (choices[i].opt == opt) {
            c->sync.attributes |= choices[i].attributes;
            return true;
        }
    }
    return false;
}

/* Options that say what is compared and changed. False: it is none of them. */
static bool cp_flag(struct cp *c, int opt)
{
    switch (opt) {
    case 'r':
        c->near.recursive = true;
        return true;
    case 'l':
    case 'p':
    case 't':
        return true; /* it is always done */
    case OPT_OVERWRITE:
        c->near.overwrite = true;
        return true;
    case OPT_RESUME:
        c->near.resume = true;
        return true;
    case 'n':
        c->sync.dry_run = true;
        return true;
    case 'i':
        c->sync.itemize = true;
        return true;
    case 'c':
        c->sync.checksum = true;
        return true;
    case 'W':
        c->sync.whole_files = true;
        return true;
    case OPT_DELETE:
        c->sync.prune = true;
        return true;
    case OPT_DELETE_BEFORE:
        c->sync.prune = c->sync.prune_before = true;
        return true;
    default:
        return false;
    }
}

static int cp_option(struct cp *c, char **argv, int opt)
{
    struct near_options *n = &c->near;
    uint64_t value = 0;
    int code = SAY_OK;

    if (cp_flag(c, opt) || cp_attributes(c, opt))
        return SAY_OK;
    switch (opt) {
    case OPT_KEEP:
        code = options_keep(&n->keep_s);
        break;
    case OPTIONS_BWLIMIT:
    case OPTIONS_RATE:
        code = allowance_option(&n->allowance, opt);
        break;
    case OPT_FSYNC:
        n->fsync = true;
        break;
    case OPT_DIRECT:
        n->direct = true;
        break;
    case OPT_GO_BACK_N:
        n->go_back_n = true;
        break;
    case OPT_SERVER:
        c->server = true;
        break;
    case OPT_PORT:
        code = options_number("--port", 0, UINT16_MAX, &value);
        n->service = (uint16_t)value;
        break;
    case OPT_BUFFERS:
        code = options_number("--buffers", 1, BUFFERS_MAX, &value);
        n->buffers = (uint32_t)value;
        break;
    case 'z':
        code = options_wrong(c->command, "-z: nothing is compressed on the way; leave it out");
        break;
    case 'P':
        code = options_number("--streams", 1, RECORD_STREAMS_MAX, &value);
        n->streams = (uint32_t)value;
        break;
    case OPT_MAX_SIZE:
        code = options_size("--max-size", 1, INT64_MAX, &n->max_bytes);
        break;
    case OPT_EXCLUDE:
    case OPT_INCLUDE:
    case OPT_EXCLUDE_FROM:
    case OPT_INCLUDE_FROM:
    case OPT_FILES_FROM:
        code = cp_rule(c, opt);
        break;
    case 'e':
    case OPT_REMOTE_PATH:
    case OPT_ADDRESS:
    case OPT_MANIFEST:
    case OPT_NAME:
        code = cp_word(c, opt);
        break;
    default:
        code = options_refused(c->command, argv, opt);
        break;
    }
    return code;
}

static int cp_mixed(const struct cp *c)
{
    return options_wrong(c->command, "some sources are here, some on another host; copy them one "
                                     "after the other");
}

/* Takes note of the host of the target, while that of all `count` - 1 sources stands in c->host. */
static int cp_between(struct cp *c, const char *host, int remote, int count)
{
    strcpy(c->from, c->host);
    strcpy(c->host, host);
    if (remote < count - 1)
        return cp_mixed(c);
    if (strcmp(c->from, c->host) == 0)
        return options_wrong(c->command,
                             "both sides are on one host; copy there, with cp(1) or rsync(1)");
    return SAY_OK;
}

/* Reads the operands: sources[n] and the target, which change into paths. Sets c->host and c->from
 * to the other hosts. Returns an exit code. */
static int cp_operands(struct cp *c, char **operands, int count)
{
    char *host = c->host;
    int i, remote = 0;
    struct operand o;

    for (i = 0; i < count; i++) {
        const char *wrong = operand_read(&o, operands[i]);
        bool last = i == count - 1;
        char safe[256];

        if (wrong != NULL)
            return say_error(SAY_USAGE, "%s: %s", text_safe(safe, sizeof safe, operands[i]), wrong);
        if (o.host[0] == 0)
            continue;
        if (last && remote > 0) {
            operands[i] = (char *)(uintptr_t)o.path;
            return cp_between(c, o.host, remote, count);
        }
        if (remote > 0 && strcmp(host, o.host) != 0)
            return options_wrong(c->command,
                                 "the sources are on different hosts; copy from one at a time");
        remote++;
        strcpy(host, o.host);
        operands[i] = (char *)(uintptr_t)o.path;
        c->near.pull = !last;
    }
    if (remote == 0)
        return options_wrong(c->command,
                             c->near.sync != NULL
                                 ? "no side names a host; write HOST:PATH for one, or use rsync(1)"
                                 : "no side names a host; write HOST:PATH for one, or use cp(1)");
    return c->near.pull && remote < count - 1 ? cp_mixed(c) : SAY_OK;
}

/* Puts what starts the far end behind the n words of the remote shell. */
static void cp_words(const struct cp *c, char **words, int n, const char *host)
{
    words[n++] = (char *)(uintptr_t)host;
    words[n++] = (char *)(uintptr_t)c->remote_path;
    words[n++] = (char *)(uintptr_t) "cp";
    words[n++] = (char *)(uintptr_t) "--server";
    words[n] = NULL;
}

/* Starts the copy, with the words that start the far ends. */
static int cp_run(struct cp *c)
{
    char *command = strdup(c->rsh), safe[128];
    int code, n = command == NULL ? -1 : rsh_split(command, c->words);

    if (n < 0) {
        free(command);
        return say_error(SAY_USAGE, "--rsh \"%s\": is no command; write it like \"ssh -p 2222\"",
                         text_safe(safe, sizeof safe, c->rsh));
    }
    memcpy(c->from_words, c->words, (size_t)n * sizeof *c->words);
    cp_words(c, c->words, n, c->host);
    cp_words(c, c->from_words, n, c->from);
    c->near.words = c->words;
    c->near.host = c->host;
    if (c->from[0] != 0) {
        c->near.from_words = c->from_words;
        c->near.from_host = c->from;
        code = between_run(&c->near);
    } else {
        code = near_run(&c->near);
    }
    free(command);
    return code;
}

/* What needs one of the ends here. Returns an exit code. */
static int cp_needs_end(const struct cp *c)
{
    if (c->from[0] != 0 && c->near.manifest != NULL)
        return options_wrong(c->command, "--manifest needs the source or the target on this host; "
                                         "run this on one of the two others");
    if (c->from[0] != 0 && c->near.common.rates != NULL)
        return options_wrong(c->command, "--rates needs the source or the target on this host; run "
                                         "this on one of the two others");
    return SAY_OK;
}

/* Reads the options. Returns OPTIONS_GO with optind at the first operand, or an exit code. */
static int cp_options(struct cp *c, int argc, char **argv)
{
    bool sync = c->near.sync != NULL;
    const char *shorts = sync ? ":niacWe:ogHAXrlptzP:qvh" : ":rpe:P:qvh";
    int opt, code;

    while ((opt = getopt_long(argc, argv, shorts, sync ? sync_longs : cp_longs, NULL)) != -1) {
        if (opt == 'h') {
            fputs(sync ? command_sync_help : command_cp_help, stdout);
            return say_flush();
        }
        code = options_take(&c->near.common, opt) ? SAY_OK : cp_option(c, argv, opt);
        if (code != SAY_OK)
            return code;
    }
    c->sync.itemize |= c->sync.dry_run; /* else a dry run would show nothing */
    return OPTIONS_GO;
}

/* A sync has no standard input: it has no size and time to compare. */
static bool cp_has_input(const struct cp *c, char *const *operands, int count)
{
    int i;

    for (i = 0; i < count && c->near.sync != NULL; i++) {
        if (strcmp(operands[i], "-") == 0)
            return true;
    }
    return false;
}

static int cp_command(struct cp *c, int argc, char **argv)
{
    const char *rsh = getenv("SLUICE_RSH");
    int code;

    c->near.name = "stdin";
    c->near.buffers = 8;
    c->near.keep_s = OPTIONS_KEEP_S;
    c->rsh = rsh != NULL && *rsh != 0 ? rsh : "ssh";
    c->remote_path = "sluice";
    code = cp_options(c, argc, argv);
    if (code != OPTIONS_GO)
        return code;
    if (c->server && (optind < argc || isatty(STDIN_FILENO)))
        return options_wrong(c->command,
                             "--server is for the far end of sluice cp, which starts it");
    if (c->server)
        return server_run(sluice_version(), c->near.common.socket);
    if (argc - optind < 2)
        return options_wrong(c->command, "a source or the target is missing");
    if (cp_has_input(c, argv + optind, argc - optind))
        return options_wrong(c->command, "\"-\" is no file; write ./- for one of this name");
    if (c->sync.dry_run && c->near.manifest != NULL)
        return options_wrong(c->command, "a dry run has no --manifest: nothing is moved");
    if (c->sync.chosen != NULL && (c->sync.prune || argc - optind > 2))
        return options_wrong(c->command, "--files-from takes one source, and no --delete");
    if (c->sync.chosen != NULL && c->chosen.n == 0)
        return say_error(SAY_USAGE, "--files-from: no name is in there; give one in each line");
    code = cp_operands(c, argv + optind, argc - optind);
    c->near.sources = argv + optind;
    c->near.n_sources = argc - optind - 1;
    c->near.target = argv[argc - 1];
    if (code == SAY_OK)
        code = cp_needs_end(c);
    return code != SAY_OK ? code : cp_run(c);
}

int command_cp(int argc, char **argv)
{
    struct cp c = {.command = "cp"};

    return cp_command(&c, argc, argv);
}

int command_sync(int argc, char **argv)
{
    struct cp c = {.command = "sync", .near = {.recursive = true, .resume = true}};
    int code;

    c.near.sync = &c.sync;
    code = cp_command(&c, argc, argv);
    filter_fini(&c.filter);
    chosen_fini(&c.chosen);
    return code;
}
