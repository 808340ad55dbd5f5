/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a window is to send. Command line and --interactive set the same keys (sluice-load(8)).
 *
 * Of a frame of B bytes without CRC, layer 2 counts B bytes, and the line B + 24: CRC (4), preamble
 * with start delimiter (8) and the gap between frames (12). Needs no EAL.
 */
#ifndef LOAD_PLAN_H
#define LOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traffic/flows.h"
#include "traffic/mix.h"

#define PLAN_LINE_EXTRA 24
#define PLAN_TEXT_MAX   128
#define PLAN_ERROR_MAX  256

enum plan_rate {
    PLAN_MAX,   /* as fast as it can */
    PLAN_PPS,   /* frames a second */
    PLAN_L2,    /* bit/s of layer 2 */
    PLAN_LINE,  /* bit/s of the line */
    PLAN_SHARE, /* of the link's line rate, 0 to 1 */
};

struct plan {
    char size[PLAN_TEXT_MAX], rate[PLAN_TEXT_MAX]; /* as written */
    struct mix mix;
    enum plan_rate kind;
    double value; /* of the rate, as its kind says */
    double seconds, warmup_s, wait_s;
    uint32_t burst; /* frames that are made up for at most, after the core was away */
    struct flows flows;
    bool src_mac, dst_mac; /* flows.route has the MAC address; else the port's are taken */
};

/* 60 B, as fast as it can, 1 s, one flow. */
void plan_init(struct plan *p);

/* Sets a key. Returns 0, or -EINVAL with the key, its value, the cause and the cure in err. */
int plan_set(struct plan *p, const char *key, const char *value, char *err, size_t err_len);

/* Sets keys from the words KEY=VALUE of a line, which is changed. On an error, as plan_set(), p is
 * as it was. */
int plan_line(struct plan *p, char *line, char *err, size_t err_len);

/* Do the parts fit together, at ports that take IP packets of up to mtu bytes? As plan_set(). */
int plan_check(const struct plan *p, uint64_t mtu, char *err, size_t err_len);

/* Frames a second on a link of link_bps; 0: as fast as it can; below 0: the link's rate is needed,
 * and not known. */
double plan_pps(const struct plan *p, double link_bps);

#endif
