/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_tap has the kernel send a signal for each frame, to save looks at an empty queue. Signals
 * interrupt whatever thread they hit; beyond the limit of queued ones a signal comes that kills;
 * and a reader woken by a frame finds none as long as the signal's handler has not run. It goes
 * without where it finds no signal that is free; we look seldom enough.
 */
#ifndef SLUICED_TAP_H
#define SLUICED_TAP_H

#include <signal.h>

#define TAP_SIGNALS 65 /* numbers of signals end below */

struct tap_signals {
    struct sigaction old[TAP_SIGNALS];
};

/* While queues are set up: before, and after. */
void tap_signals_hide(struct tap_signals *s);
void tap_signals_show(const struct tap_signals *s);

#endif
