/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes of one-way delay on a scenario ([FRAME-RELAY]): frames that alternate between two lengths,
 * from one host's port to another's, through whatever is between. A frame's increment is how much
 * longer it took than the fastest frames (lib/control/owd.h). Of a frame that the path doubles, the
 * first copy counts. sim/probe.h makes the frames.
 *
 * Invariant: of each class, frames that came <= frames sent.
 */
#ifndef LAB_PROBES_H
#define LAB_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "control/owd.h"
#include "lab/result.h"
#include "lab/text.h"
#include "sim/probe.h"

struct probes_class {
    char name[24];
    uint16_t ip_len;
    struct owd owd;
    struct histogram increment, delay; /* ns; of frames sent while observed */
    uint64_t came;
    json_t *series;
};

struct probes {
    const char *name;
    uint32_t from, to;
    uint64_t every_ns, start_ns, from_ns, until_ns, turn_ns;
    bool reflect;           /* the other host sends the frames back, turn_ns later */
    struct histogram round; /* ns; of frames sent while observed that came back */
    uint8_t *seen, *back;   /* a bit for each frame: whether it came there, and back, before */
    uint64_t frames_max;
    struct probe probe;
    struct mirror mirror;
    struct probes_class of[2];
};

void probes_read(struct probes *p, struct text *t, const char *section, const char *const *hosts,
                 uint32_t n_hosts, uint64_t until_ns);
/* Bytes of the longest frame, without headers in front of IP. */
uint32_t probes_ip_len(const struct probes *p);
/* there, back: routes between the two hosts, each with the other's ports swapped. False: there is
 * no memory. */
bool probes_open(struct probes *p, const struct frame_route *there, const struct frame_route *back,
                 uint64_t hz, uint64_t from_ns, struct rte_mempool *pool, struct result *r);
void probes_tell(const struct probes *p, struct result *r);
void probes_free(struct probes *p);

#endif
