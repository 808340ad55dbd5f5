/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One RX queue and what it collects (lib/traffic/collector.h).
 *
 * Rates count what arrives while the window is measured, whenever it was sent. Losses count what
 * was sent in the window, whenever it arrives.
 *
 * Belongs to one worker while a window runs, to control otherwise.
 */
#ifndef LOAD_RECEIVER_H
#define LOAD_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "load/window.h"
#include "traffic/collector.h"

#define RECEIVER_BURST 64u

enum receiver_phase { RECEIVER_BEFORE, RECEIVER_MEASURED, RECEIVER_WAITING, RECEIVER_DONE };

struct receiver {
    struct window *window;
    uint16_t port, queue;
    struct collector collector;
    enum receiver_phase phase;
    uint64_t begin_tsc, end_tsc; /* of the part that is measured */
    uint64_t frames, bytes;      /* that arrived in it */
    uint64_t frames_before, bytes_before;
    uint64_t received; /* that the window knows of */
};

/* Before a window. */
void receiver_begin(struct receiver *r, struct tally *const tally[STAMP_STREAMS]);
/* Takes a burst. Returns false when its part of the window is over. */
bool receiver_step(struct receiver *r, uint64_t now);

#endif
