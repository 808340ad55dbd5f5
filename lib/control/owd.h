/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-way delay increment ([FRAME-RELAY]): how much longer a packet took than the fastest recent
 * packets. The clocks at both ends differ by an offset, which cancels, and by a drift, which is
 * measured on the fastest packets of windows at least 10 s apart.
 *
 *   delay = arrived - sent;   increment = delay - base(arrived) >= 0
 *   base(t) = min of d + drift * (t - a) over the fastest packets of the last window and of this
 *             one, each with delay d and arrival a
 *
 * A queue that is never empty during two windows becomes part of the base. In a long pause, the
 * drift may change the delay by more than 1/1024 of a window (1/16 of a round trip). Packets from
 * before such a pause do not count in the base. The peer claims when it sent a packet: if the delay
 * jumps by more than OWD_JUMP_NS, the peer's clock was set, and all state is reset. Times in ns.
 * Owned by one worker.
 */
#ifndef SLUICE_CONTROL_OWD_H
#define SLUICE_CONTROL_OWD_H

#include <stdbool.h>
#include <stdint.h>

#define OWD_JUMP_NS (1ll << 40) /* 18 minutes; no increment is longer */

struct owd_point {
    bool known;
    uint64_t delay_ns; /* modulo 2^64: only differences mean anything */
    uint64_t at_ns;
};

struct owd {
    struct owd_point last, least; /* fastest packet of the last window, and of this one */
    struct owd_point anchor;      /* fastest packet of the window from which drift is measured */
    uint64_t begun_ns;            /* when this window began */
    uint64_t newest_ns;           /* when the newest packet came */
    uint32_t halvings;            /* of the error that the drift may have */
    int64_t drift;                /* of one clock against the other, in 2^-30: ns per 1.07 s */
};

void owd_init(struct owd *o);

/* The packet's increment. window_ns: length of a window; arrived_ns must not go back. */
uint64_t owd_increment(struct owd *o, uint64_t sent_ns, uint64_t arrived_ns, uint64_t window_ns);

#endif
