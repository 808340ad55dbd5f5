/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mix of frame sizes with weights, as one period of sizes that is sent over and over.
 *
 * In each period of `count` frames, each size is there exactly as often as its weight says (weights
 * are divided by their greatest common divisor first), spread as evenly as whole frames allow
 * (smooth weighted round robin).
 *
 * Text: BYTES[:WEIGHT] joined by '+', such as 60:7+590:4+1514:1; or imix, which is this one.
 * Bytes count a frame without its CRC.
 */
#ifndef SLUICE_TRAFFIC_MIX_H
#define SLUICE_TRAFFIC_MIX_H

#include <stddef.h>
#include <stdint.h>

#define MIX_SIZES_MAX  16u
#define MIX_PERIOD_MAX 256u /* sum of the reduced weights */
#define MIX_IMIX       "60:7+590:4+1514:1"

struct mix {
    uint32_t sizes;                 /* different ones */
    uint16_t bytes[MIX_SIZES_MAX];  /* of frames of each size */
    uint16_t weight[MIX_SIZES_MAX]; /* reduced */
    uint32_t count;                 /* frames in a period, > 0 */
    uint8_t order[MIX_PERIOD_MAX];  /* indices of sizes, in the order in which they are sent */
    uint32_t bytes_sum;             /* of a period */
    uint16_t bytes_min, bytes_max;
};

/* Reads a mix. Returns 0, or -EINVAL with the cause and the cure in err. */
int mix_parse(struct mix *m, const char *text, char *err, size_t err_len);

#endif
