/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several commands share, and the errors for options that are refused. */
#ifndef SLUICE_COMMAND_OPTIONS_H
#define SLUICE_COMMAND_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct options {
    const char *socket; /* path from --socket; NULL: $SLUICE_SOCKET, else libsluice's default */
    const char *rates;  /* path from --rates, of a CSV file to write; NULL: none */
    bool quiet, verbose, json;
    bool json_stream; /* then `json`, too */
};

enum options_value {
    OPTIONS_SOCKET = 1000,
    OPTIONS_RATES,
    OPTIONS_JSON,
    OPTIONS_JSON_STREAM, /* of commands that move files */
    OPTIONS_BWLIMIT,
    OPTIONS_RATE, /* both: sluice/rate/allowance.h */
    OPTIONS_OWN,  /* commands number their own options from here */
};

/* Entries for a command's table of long options. Their short options are "h" for OPTIONS_PLAIN and
 * "qvh" for OPTIONS_LONG. */
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

/* Handles a value that getopt_long() returned. False if it is none of the common options. */
bool options_take(struct options *o, int value);

/* Parses the options of a command (argv[0]) that has no others than OPTIONS_PLAIN. Returns
 * OPTIONS_GO with optind at the first argument, or an exit code: help was printed, or an option is
 * wrong. */
#define OPTIONS_GO (-1)
int options_plain(struct options *o, const char *help, int argc, char **argv);

/* The path from --socket, else from $SLUICE_SOCKET; NULL: neither is set. */
const char *options_socket(const struct options *o);

/* Parse a number, size or time in optarg. SAY_OK, or SAY_USAGE; the error is printed. */
int options_number(const char *name, uint64_t min, uint64_t max, uint64_t *value);
int options_size(const char *name, uint64_t min, uint64_t max, uint64_t *bytes);
int options_duration(const char *name, uint64_t min_ns, uint64_t max_ns, uint64_t *ns);
/* The time of --keep-partial, in seconds. */
#define OPTIONS_KEEP_S (24u * 3600) /* its default */
int options_keep(uint32_t *keep_s);

/* Prints the option that getopt_long() refused. command: its name, as "send"; value: what
 * getopt_long() returned, '?' or ':'. Returns SAY_USAGE. */
int options_refused(const char *command, char *const *argv, int value);
/* Prints the usage error that `what` describes. Returns SAY_USAGE. */
int options_wrong(const char *command, const char *what);

/* Whether to print the final line for people: with --verbose, or if stderr is a terminal and --json
 * is not given; never with --quiet. */
bool options_talk(const struct options *o);
/* Where lines of --json-stream go; NULL: nowhere. */
FILE *options_lines(const struct options *o);

#endif
