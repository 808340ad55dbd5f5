/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic/mix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/gcd.h"
#include "base/value.h"
#include "wire/stamp.h"

#define WEIGHT_MAX 65535u

/* Reads digits up to `end`. */
static bool number_read(const char *text, const char *end, uint64_t max, uint64_t *out)
{
    char digits[8];
    size_t len = (size_t)(end - text);

    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    return value_number(digits, out) == NULL && *out > 0 && *out <= max;
}

/* Reads BYTES[:WEIGHT] up to `end`. */
static int part_read(struct mix *m, const char *text, const char *end, char *err, size_t err_len)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    uint64_t bytes, weight = 1;

    if (m->sizes == MIX_SIZES_MAX) {
        snprintf(err, err_len, "a mix has at most %u sizes", MIX_SIZES_MAX);
        return -EINVAL;
    }
    if (!number_read(text, colon != NULL ? colon : end, STAMP_FRAME_MAX, &bytes) ||
        bytes < STAMP_FRAME_MIN ||
        (colon != NULL && !number_read(colon + 1, end, WEIGHT_MAX, &weight))) {
        snprintf(err, err_len,
                 "\"%.*s\" is no size; write BYTES or BYTES:WEIGHT, with %u to %u bytes (without "
                 "CRC)",
                 (int)(end - text), text, STAMP_FRAME_MIN, STAMP_FRAME_MAX);
        return -EINVAL;
    }
    m->bytes[m->sizes] = (uint16_t)bytes;
    m->weight[m->sizes] = (uint16_t)weight;
    m->sizes++;
    return 0;
}

/* Each turn, every size gains its weight, and the size that has most is sent and pays for it. */
static void order_make(struct mix *m)
{
    int32_t owed[MIX_SIZES_MAX] = {0};

    for (uint32_t k = 0; k < m->count; k++) {
        uint32_t best = 0;

        for (uint32_t i = 0; i < m->sizes; i++) {
            owed[i] += m->weight[i];
            if (owed[i] > owed[best])
                best = i;
        }
        owed[best] -= (int32_t)m->count;
        m->order[k] = (uint8_t)best;
        m->bytes_sum += m->bytes[best];
    }
}

static int weights_reduce(struct mix *m, char *err, size_t err_len)
{
    uint32_t common = 0;

    for (uint32_t i = 0; i < m->sizes; i++)
        common = gcd(m->weight[i], common);
    CHECK(common > 0); /* there is a size, and weights are above 0 */
    m->bytes_min = UINT16_MAX;
    for (uint32_t i = 0; i < m->sizes; i++) {
        m->weight[i] = (uint16_t)(m->weight[i] / common);
        m->count += m->weight[i];
        m->bytes_min = m->bytes[i] < m->bytes_min ? m->bytes[i] : m->bytes_min;
        m->bytes_max = m->bytes[i] > m->bytes_max ? m->bytes[i] : m->bytes_max;
    }
    if (m->count <= MIX_PERIOD_MAX)
        return 0;
    snprintf(err, err_len, "the weights sum up to %u; make them smaller, up to %u in sum", m->count,
             MIX_PERIOD_MAX);
    return -EINVAL;
}

int mix_parse(struct mix *m, const char *text, char *err, size_t err_len)
{
    int rc = 0;

    *m = (struct mix){0};
    if (strcmp(text, "imix") == 0)
        text = MIX_IMIX;
    for (;;) {
        const char *end = text + strcspn(text, "+");

        rc = part_read(m, text, end, err, err_len);
        if (rc != 0 || *end == '\0')
            break;
        text = end + 1;
    }
    if (rc == 0)
        rc = weights_reduce(m, err, err_len);
    if (rc == 0)
        order_make(m);
    return rc;
}
