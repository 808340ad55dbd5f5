/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Momentary rate of arrival: the bytes of the last five frames over the time they took to arrive
 * ([FRAME-RELAY]). Frames of one poll count as one arrival, since nothing tells when each of them
 * came. So polling in bursts does not distort the rate.
 */
#ifndef SLUICE_VT_MOMENTARY_H
#define SLUICE_VT_MOMENTARY_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENTARY_FRAMES 5u

struct momentary {
    /* Polls that brought frames, newest first; [0] may still grow. */
    struct {
        uint64_t at_tsc; /* when the poll was; 0: no poll yet */
        uint32_t frames;
        uint64_t bytes;
    } poll[MOMENTARY_FRAMES + 2];
};

/*
 * A frame arrived. True if it begins a new poll and the earlier polls make up a new value: *bytes
 * arrived within *span_tsc (never 0). now_tsc must not go back.
 */
bool momentary_frame(struct momentary *m, uint32_t frame_bytes, uint64_t now_tsc, uint64_t *bytes,
                     uint64_t *span_tsc);

#endif
