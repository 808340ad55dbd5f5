/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "sluiced/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/option.h"
#include "sluiced/config/config.h"

const char options_help[] =
    "Usage: sluiced [EAL arguments] -- [-c FILE] [OPTION...]\n"
    "       sluiced -c FILE [OPTION...]\n"
    "       sluiced --check [FILE]\n"
    "\n"
    "Receiver-paced bulk transport on DPDK ports, for local applications that\n"
    "connect to its socket (see sluice(1), libsluice(3)).\n"
    "\n"
    "  -c, --config FILE    configuration (" CONFIG_FILE_DEFAULT ")\n"
    "      --check [FILE]   check the configuration: print a summary, or an error\n"
    "      --socket PATH    socket for applications, instead of the configured one\n"
    "      --log-format F   text or json, instead of the configured log_format\n"
    "  -i                   open a console here; sluiced stops when the console ends\n"
    "      --cmdline-file FILE\n"
    "                       first run the console commands in FILE\n"
    "  -h, --help           show this help\n"
    "  -V, --version        show the versions of sluiced and DPDK\n"
    "\n"
    "EAL arguments, which replace those of the configuration (key eal):\n"
    "  -l 0,1               lcores: the first runs control, the others run workers\n"
    "  --lcores 0@1,1@0     the same with a CPU for each, as LCORE@CPU\n"
    "  --in-memory          use hugepages without files\n"
    "  --no-huge --no-shconf -m 512\n"
    "                       use 512 MB of ordinary memory instead of hugepages\n"
    "  --file-prefix NAME   unique name for each daemon on one machine\n"
    "  --vdev ARGS          create a software port; like vdev in the configuration\n"
    "\n"
    "SIGINT and SIGTERM stop sluiced, SIGHUP reloads the configuration. Exit status:\n"
    "0 stopped as asked, 1 run-time error, 2 command line, 3 configuration, 4 EAL\n"
    "(permissions, hugepages, memory, lcores), 5 port, 6 socket.\n"
    "Without private_key_file nothing is encrypted. Manual: sluiced(8).\n";

enum {
    CONFIG,
    CONFIG_LONG,
    SOCKET,
    LOG_FORMAT,
    CHECK_ONLY,
    INTERACTIVE,
    CMDLINE_FILE,
    HELP,
    HELP_SHORT,
    VERSION,
    VERSION_SHORT,
};

static const struct option options[] = {
    [CONFIG] = {.name = "-c", .value = "FILE"},
    [CONFIG_LONG] = {.name = "--config", .value = "FILE", .alone = true},
    [SOCKET] = {.name = "--socket", .value = "PATH"},
    [LOG_FORMAT] = {.name = "--log-format", .value = "FORMAT"},
    [CHECK_ONLY] = {.name = "--check", .value = "FILE", .alone = true, .may_lack = true},
    [INTERACTIVE] = {.name = "-i"},
    [CMDLINE_FILE] = {.name = "--cmdline-file", .value = "FILE"},
    [HELP] = {.name = "--help", .alone = true},
    [HELP_SHORT] = {.name = "-h", .alone = true},
    [VERSION] = {.name = "--version", .alone = true},
    [VERSION_SHORT] = {.name = "-V", .alone = true},
    {.name = NULL},
};

static int option_set(struct options *o, int option, const char *value, char *err, size_t err_len)
{
    switch (option) {
    case CHECK_ONLY:
        o->check = true;
        if (value == NULL)
            return 0;
        /* fall through */
    case CONFIG:
    case CONFIG_LONG:
        o->config_path = value;
        return 0;
    case SOCKET:
        o->socket_path = value;
        if (strlen(value) < CONFIG_SOCKET_MAX)
            return 0;
        snprintf(err, err_len, "--socket: the path is longer than %d bytes; shorten it",
                 CONFIG_SOCKET_MAX - 1);
        return -EINVAL;
    case LOG_FORMAT:
        o->log_format = value;
        if (strcmp(value, "text") == 0 || strcmp(value, "json") == 0)
            return 0;
        return option_wrong("--log-format", value, "write text or json", err, err_len);
    case INTERACTIVE:
        o->interactive = true;
        return 0;
    case CMDLINE_FILE:
        o->cmdline_path = value;
        return 0;
    case HELP:
    case HELP_SHORT:
        o->help = true;
        return 0;
    default:
        o->version = true;
        return 0;
    }
}

int options_eal(char *text, char *name, char **argv, int max)
{
    char *rest = NULL, *word;
    int argc = 0;

    argv[argc++] = name;
    for (word = strtok_r(text, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (argc == max - 1)
            return -E2BIG;
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

/* The EAL's own -c takes a mask of cores in hexadecimal. Does the first argument mean ours? */
static bool names_file(int argc, char **argv)
{
    return argc > 2 && strcmp(argv[1], "-c") == 0 &&
           argv[2][strspn(argv[2], "0123456789abcdefABCDEFxX")] != '\0';
}

int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len)
{
    const char *value;
    int i, rc = 0;

    *o = (struct options){.config_path = CONFIG_FILE_DEFAULT};
    if (argc > 1 && argv[1][0] != '-') {
        snprintf(err, err_len, "unknown argument %s; name a configuration with --config %s",
                 argv[1], argv[1]);
        return -EINVAL;
    }
    i = option_first(options, argc, argv, &o->eal_argc);
    if (o->eal_argc == argc && names_file(argc, argv))
        i = o->eal_argc = 1;
    for (; i < argc && rc >= 0; i++) {
        rc = option_take(options, argc, argv, &i, &value, "see sluiced --help", err, err_len);
        if (rc >= 0)
            rc = option_set(o, rc, value, err, err_len);
    }
    return rc;
}
