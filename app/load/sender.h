/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One TX queue and the stream that it sends, at a rate or as fast as it can.
 *
 * At a rate, frames are evenly spaced (lib/pace/contract.h: GCRA, a frame counts as
 * SENDER_FRAME "bytes"). After the core was away, at most plan.burst frames are made up for.
 *
 *   offered = sent + refused
 *
 * Belongs to one worker while a window runs, to control otherwise.
 */
#ifndef LOAD_SENDER_H
#define LOAD_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "load/window.h"
#include "pace/contract.h"
#include "traffic/stream.h"

#define SENDER_BURST 32u
#define SENDER_FRAME 1000u /* so that rates have steps of 1/1000 frame a second */

enum sender_phase { SENDER_WARMUP, SENDER_MEASURED, SENDER_DONE };

struct sender {
    /* set by control before a window */
    struct window *window;
    struct rte_mempool *pool;
    struct contract_config rate; /* pcr_Bps 0: as fast as it can */
    uint64_t period_tsc;         /* from frame to frame */
    uint16_t port, queue;
    uint8_t stream_id;
    struct stream warmup, measured;
    struct stamp_flow *flows;
    /* state */
    enum sender_phase phase;
    struct contract pace;
    struct rte_mbuf *held[SENDER_BURST]; /* refused frames, which are written again */
    uint32_t n_held;
    /* of the part that is measured */
    uint64_t sent, sent_bytes, refused;
    uint64_t begin_tsc, end_tsc;
    struct histogram late; /* at a rate: ns from when a frame was due to when it was offered */
};

/* Before a window. The streams are ready. */
void sender_begin(struct sender *s, uint64_t now);
/* Sends what is due. Returns false when its part of the window is over. */
bool sender_step(struct sender *s, uint64_t now);
/* Gives buffers back. */
void sender_end(struct sender *s);

#endif
