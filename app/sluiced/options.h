/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: sluiced [EAL arguments] -- [options]. Needs no EAL. */
#ifndef SLUICED_OPTIONS_H
#define SLUICED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct options {
    const char *config_path;
    const char *socket_path;  /* NULL: as configured */
    const char *log_format;   /* text or json; NULL: as configured */
    const char *cmdline_path; /* file of console commands to run first; NULL: none */
    bool check, help, version;
    bool interactive; /* a console on stdin */
    int eal_argc;     /* argv[0 .. eal_argc - 1] are the EAL's */
};

/* 0, or -EINVAL with a line in err. *o points into argv. */
int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len);
/* Cuts text, the value of the key `eal`, into words, and makes them the arguments of a program
 * called name: argv[0] .. argv[argc - 1], then NULL. The words stay in text. Returns argc, or
 * -E2BIG if argv has room for fewer than argc + 1 pointers. */
int options_eal(char *text, char *name, char **argv, int max);
/* The text that --help prints; it fits on one screen. */
extern const char options_help[];

#endif
