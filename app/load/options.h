/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: sluice-load [EAL arguments] -- [options]. Needs no EAL. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/plan.h"

#define OPTIONS_PORT_MAX 64
#define OPTIONS_LIST_MAX 64 /* sizes, or rates, of a list */

enum options_mode { MODE_SEND, MODE_LISTEN, MODE_REFLECT };
enum options_output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_CSV };

struct options {
    enum options_mode mode;
    enum options_output output;
    bool interactive, both, verify, count, help, version;
    char port[2][OPTIONS_PORT_MAX]; /* names; "": the first ports there are */
    struct plan plan;
    char sizes[OPTIONS_LIST_MAX][PLAN_TEXT_MAX]; /* a window is run with each, and with each rate */
    char rates[OPTIONS_LIST_MAX][PLAN_TEXT_MAX];
    uint32_t n_sizes, n_rates; /* 0: that of plan */
    uint64_t mtu;              /* 0: 1500, or what the sizes need */
    uint64_t queues, packets;
    double link_bps; /* 0: what the port says */
    double max_loss; /* share; below 0: any */
    int eal_argc;    /* argv[0 .. eal_argc - 1] are the EAL's */
};

/* Returns 0, or -EINVAL with a line in err. */
int options_parse(struct options *o, int argc, char **argv, char *err, size_t err_len);
/* The text of --help. */
extern const char options_help[];

#endif
