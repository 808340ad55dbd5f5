/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "sluiced/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"
#include "sluiced/config.h"

const char options_help[] =
    "Usage: sluiced [EAL arguments] -- [-c FILE] [--socket PATH]\n"
    "       sluiced --check [FILE]\n"
    "\n"
    "Receiver-paced bulk transport on DPDK ports, for the local applications that\n"
    "connect to its socket (see sluice(1), libsluice(3)).\n"
    "\n"
    "  -c FILE        configuration, default " CONFIG_FILE_DEFAULT "\n"
    "  --check [FILE] read the configuration, report what is wrong, start nothing\n"
    "  --socket PATH  instead of the configuration's [daemon] socket\n"
    "  --help         this text\n"
    "  --version      versions of sluiced and DPDK\n"
    "\n"
    "Frequent EAL arguments:\n"
    "  -l 0,1         lcores: the first runs control, the others work\n"
    "  --in-memory    hugepages without files\n"
    "  --no-huge --no-shconf -m 512\n"
    "                 no hugepages: 512 MB of ordinary memory\n"
    "  --file-prefix NAME\n"
    "                 another name for each daemon on one machine\n"
    "  --vdev ARGS    a software port; or vdev = ARGS in the configuration\n"
    "\n"
    "Stops on SIGINT and SIGTERM. Exit status: 0 stopped as asked, 1 fault while\n"
    "running, 2 command line, 3 configuration, 4 EAL (rights, hugepages, memory,\n"
    "lcores), 5 port, 6 socket. Trusted networks only: nothing is encrypted yet.\n"
    "Manual: sluiced(8).\n";

struct parse {
    struct options *o;
    char **argv;
    int argc, i;
    char *err;
    size_t err_len;
};

static const char *const words[] = {"-c", "--config",  "--check", "--socket", "--help",
                                    "-h", "--version", "-V",      NULL};

/* The value of option `name` at p->i: "--name=VALUE", or the next argument. */
static const char *parse_value(struct parse *p, const char *name)
{
    const char *arg = p->argv[p->i];
    size_t len = strlen(name);

    if (strncmp(arg, name, len) == 0 && arg[len] == '=')
        return arg + len + 1;
    return p->i + 1 < p->argc ? p->argv[++p->i] : NULL;
}

static bool parse_is(const char *arg, const char *name)
{
    size_t len = strlen(name);

    return strcmp(arg, name) == 0 ||
           (name[1] == '-' && strncmp(arg, name, len) == 0 && arg[len] == '=');
}

static int parse_error(struct parse *p, const char *arg)
{
    const char *nearest = NULL;
    unsigned int i, best = 3;

    for (i = 0; words[i] != NULL; i++) {
        unsigned int d = value_distance(words[i], arg);

        if (d < best && words[i][1] == '-') {
            best = d;
            nearest = words[i];
        }
    }
    if (nearest != NULL)
        snprintf(p->err, p->err_len, "unknown argument %s; did you mean %s?", arg, nearest);
    else
        snprintf(p->err, p->err_len,
                 "unknown argument %s; EAL arguments stand before --, see sluiced --help", arg);
    return -EINVAL;
}

static int parse_one(struct parse *p)
{
    const char *arg = p->argv[p->i];
    const char **value = NULL;
    const char *name = NULL;

    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
        p->o->help = true;
    } else if (strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0) {
        p->o->version = true;
    } else if (strcmp(arg, "--check") == 0) {
        p->o->check = true;
        if (p->i + 1 < p->argc && p->argv[p->i + 1][0] != '-')
            p->o->config_path = p->argv[++p->i];
    } else if (parse_is(arg, "-c") || parse_is(arg, "--config")) {
        name = arg[1] == '-' ? "--config" : "-c";
        value = &p->o->config_path;
    } else if (parse_is(arg, "--socket")) {
        name = "--socket";
        value = &p->o->socket_path;
    } else {
        return parse_error(p, arg);
    }
    if (value == NULL)
        return 0;
    *value = parse_value(p, name);
    if (*value == NULL || **value == '\0') {
        snprintf(p->err, p->err_len, "%s needs a value; write %s %s", name, name,
                 value == &p->o->socket_path ? "PATH" : "FILE");
        return -EINVAL;
    }
    return 0;
}

/* Where our arguments start. Without "--" all are the EAL's, unless the first is one that only we
 * have. */
static int own_start(int argc, char **argv, int *eal_argc)
{
    static const char *const own[] = {"--help", "-h", "--version", "-V", "--check"};
    size_t k;
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            *eal_argc = i;
            return i + 1;
        }
    }
    for (k = 0; argc > 1 && k < sizeof own / sizeof own[0]; k++) {
        if (strcmp(argv[1], own[k]) == 0) {
            *eal_argc = 1;
            return 1;
        }
    }
    *eal_argc = argc;
    return argc;
}

int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len)
{
    struct parse p = {.o = o, .argv = argv, .argc = argc, .err = err, .err_len = err_len};
    int rc = 0;

    memset(o, 0, sizeof *o);
    o->config_path = CONFIG_FILE_DEFAULT;
    for (p.i = own_start(argc, argv, &o->eal_argc); p.i < argc && rc == 0; p.i++)
        rc = parse_one(&p);
    if (rc == 0 && o->socket_path != NULL && strlen(o->socket_path) >= CONFIG_SOCKET_MAX) {
        snprintf(err, err_len, "--socket: the path is longer than %d bytes; shorten it",
                 CONFIG_SOCKET_MAX - 1);
        rc = -EINVAL;
    }
    return rc;
}
