/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: sluice-emu [EAL arguments] -- [options]. Needs no EAL. */
#ifndef EMU_OPTIONS_H
#define EMU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/say.h"

#define OPTIONS_PORT_MAX 64

struct options {
    const char *spec[2];            /* forward, reverse */
    char port[2][OPTIONS_PORT_MAX]; /* names; "": the first two ports there are */
    const char *json_path;
    enum say_format log_format;
    uint64_t seed, mtu;
    uint64_t queues;      /* of each port; 0: what suits the devices (common/queues.h) */
    uint64_t packets[2];  /* the most that each path holds: forward, reverse */
    uint64_t time_ns;     /* 0: until stopped */
    uint64_t interval_ns; /* between reports; 0: only at the end */
    bool split;           /* a path for each queue, whatever its elements are */
    bool interactive, check, help, version, quiet;
    int eal_argc; /* argv[0 .. eal_argc - 1] are the EAL's */
};

/* Returns 0, or -EINVAL with a line in err. o points into argv. */
int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len);
/* The text of --help: one screen. */
extern const char options_help[];

#endif
