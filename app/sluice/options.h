/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several commands have, and how options are refused. */
#ifndef SLUICE_COMMAND_OPTIONS_H
#define SLUICE_COMMAND_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *socket; /* NULL: libsluice's default */
    const char *rates;  /* CSV file, NULL: none */
    bool quiet, verbose, json;
};

enum options_value {
    OPTIONS_SOCKET = 1000,
    OPTIONS_RATES,
    OPTIONS_JSON,
    OPTIONS_OWN, /* commands number theirs from here */
};

/* Entries for a command's table of long options; short ones: "h", and "qvh". */
#define OPTIONS_PLAIN                                                                              \
    {"socket", required_argument, NULL, OPTIONS_SOCKET},                                           \
        {"json", no_argument, NULL, OPTIONS_JSON},                                                 \
    {                                                                                              \
        "help", no_argument, NULL, 'h'                                                             \
    }
#define OPTIONS_LONG                                                                               \
    OPTIONS_PLAIN, {"rates", required_argument, NULL, OPTIONS_RATES},                              \
        {"quiet", no_argument, NULL, 'q'},                                                         \
    {                                                                                              \
        "verbose", no_argument, NULL, 'v'                                                          \
    }

/* Takes a value that getopt_long() returned: false if it is not one of the common ones. */
bool options_take(struct options *o, int value);

/* All options of a command (argv[0]) that has the plain ones and no others: OPTIONS_GO, with optind
 * at its arguments, or the exit code, since help was asked for or something is wrong. */
#define OPTIONS_GO (-1)
int options_plain(struct options *o, const char *help, int argc, char **argv);

/* --socket, or $SLUICE_SOCKET; NULL: neither says anything. */
const char *options_socket(const struct options *o);

/* A number, size or time from optarg: SAY_OK, or SAY_USAGE with the error said. */
int options_number(const char *name, uint64_t min, uint64_t max, uint64_t *value);
int options_size(const char *name, uint64_t min, uint64_t max, uint64_t *bytes);
int options_duration(const char *name, uint64_t min_ns, uint64_t max_ns, uint64_t *ns);

/* Says what getopt_long() refused. command: "send"; value: '?' or ':'. SAY_USAGE. */
int options_refused(const char *command, char *const *argv, int value);
/* A usage error of another kind. */
int options_wrong(const char *command, const char *what);

/* The final line is for people: asked for, or on a terminal. */
bool options_talk(const struct options *o);

#endif
