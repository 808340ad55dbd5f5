/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps net_tap from using signals. net_tap has the kernel send a signal for each frame, so that it
 * need not poll an empty queue. A signal interrupts whatever thread it hits. Beyond the limit of
 * queued signals, the kernel sends SIGIO instead, which kills the process. And a reader that a
 * frame woke finds no frame until the signal's handler has run. Where net_tap finds no free signal,
 * it goes without; our workers poll seldom enough for that.
 */
#ifndef SLUICED_TAP_SIGNALS_H
#define SLUICED_TAP_SIGNALS_H

#include <signal.h>

#define TAP_SIGNALS 65 /* all signal numbers are lower */

struct tap_signals {
    struct sigaction old[TAP_SIGNALS];
};

/* To call before and after queues are set up. */
void tap_signals_hide(struct tap_signals *s);
void tap_signals_show(const struct tap_signals *s);

#endif
