/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Momentary rate of arrival: the bytes of the last five frames over the time they took to come
 * ([FRAME-RELAY]). Frames that one poll brought came, as far as anybody knows, at the
 * same time: they are taken together, so that polling in bursts does not distort the rate.
 */
#ifndef SLUICE_VT_MOMENTARY_H
#define SLUICE_VT_MOMENTARY_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENTARY_FRAMES 5u

struct momentary {
    /* Arrivals, the newest first: at 0 the poll that may still bring more. */
    struct {
        uint64_t at_tsc; /* 0: none yet */
        uint32_t frames;
        uint64_t bytes;
    } poll[MOMENTARY_FRAMES + 2];
};

/*
 * A frame came. True where an earlier poll's frames complete a new value: *bytes came within
 * *span_tsc (not 0). now_tsc must not go back.
 */
bool momentary_frame(struct momentary *m, uint32_t frame_bytes, uint64_t now_tsc, uint64_t *bytes,
                     uint64_t *span_tsc);

#endif
