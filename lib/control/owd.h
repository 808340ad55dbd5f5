/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-way delay increment ([FRAME-RELAY]): by how much a packet was longer under way
 * than the fastest ones lately. The clocks at both ends differ by an offset, which falls out, and
 * by a drift, which is taken from the fastest packets of windows that lie 10 s apart.
 *
 *   delay = arrived - sent;   base(t) = least of two windows' (delay + drift (t - its time))
 *   increment = delay - base >= 0
 *
 * A queue that is never empty for two windows becomes part of the base. sent is the peer's word:
 * where it jumps by more than OWD_JUMP_NS, its clock was set, and all begins anew. Times in ns.
 * Owned by one worker.
 */
#ifndef SLUICE_CONTROL_OWD_H
#define SLUICE_CONTROL_OWD_H

#include <stdbool.h>
#include <stdint.h>

#define OWD_JUMP_NS (1ll << 40) /* 18 minutes; increments are less */

struct owd_point {
    bool known;
    uint64_t delay_ns; /* modulo 2^64: only differences mean anything */
    uint64_t at_ns;
};

struct owd {
    struct owd_point last, least; /* of the window before this one, and of this one */
    struct owd_point anchor;      /* of the window from which on drift is measured */
    uint64_t begun_ns;            /* when this window began */
    int64_t drift;                /* of the clocks, in 2^-30: ns per 1.07 s */
};

void owd_init(struct owd *o);

/* The packet's increment. window_ns: how long a window is; arrived_ns does not go back. */
uint64_t owd_increment(struct owd *o, uint64_t sent_ns, uint64_t arrived_ns, uint64_t window_ns);

#endif
