/* SPDX-License-Identifier: BSD-3-Clause */
/* Momentary rate of arrival. */
#include "vt/momentary.h"

#include <string.h>

#define POLLS (MOMENTARY_FRAMES + 2)

bool momentary_frame(struct momentary *m, uint32_t frame_bytes, uint64_t now_tsc, uint64_t *bytes,
                     uint64_t *span_tsc)
{
    uint32_t frames = 0;

    if (m->poll[0].at_tsc == now_tsc) {
        m->poll[0].frames++;
        m->poll[0].bytes += frame_bytes;
        return false;
    }
    memmove(&m->poll[1], &m->poll[0], (POLLS - 1) * sizeof m->poll[0]);
    m->poll[0].at_tsc = now_tsc;
    m->poll[0].frames = 1;
    m->poll[0].bytes = frame_bytes;
    *bytes = 0;
    for (uint32_t i = 1; i + 1 < POLLS && m->poll[i + 1].at_tsc != 0; i++) {
        frames += m->poll[i].frames;
        *bytes += m->poll[i].bytes;
        if (frames >= MOMENTARY_FRAMES) {
            *span_tsc = m->poll[1].at_tsc - m->poll[i + 1].at_tsc;
            return true;
        }
    }
    return false;
}
