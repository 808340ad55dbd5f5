/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/place.h"

#include <string.h>

#include "base/stream.h"
#include "wire/frame.h"

#define LINE STREAM_LINE

void place_copy(uint8_t *dst, const uint8_t *src, uint32_t len, bool stream)
{
    if (!stream || len < 4 * LINE) {
        memcpy(dst, src, len);
        return;
    }
    uint32_t head = (uint32_t)(-(uintptr_t)dst & (LINE - 1));

    memcpy(dst, src, head);
    dst += head, src += head, len -= head;
    stream_copy(dst, src, len / LINE);
    memcpy(dst + (len & ~(LINE - 1)), src + (len & ~(LINE - 1)), len & (LINE - 1));
}

/* What the sum of some bytes becomes if they start at an odd offset instead of an even one: the
 * bytes of each word are swapped (RFC 1071, 2B). */
static uint64_t sum_odd(uint64_t sum)
{
    return __builtin_bswap16(frame_sum_fold(sum));
}

uint64_t place_copy_sum(uint8_t *dst, const uint8_t *src, uint32_t len, bool stream)
{
    uint32_t head = 0;
    uint64_t sum = 0;

    stream = stream && len >= 4 * LINE;
    if (stream) {
        head = (uint32_t)(-(uintptr_t)dst & (LINE - 1));
        memcpy(dst, src, head);
        sum = frame_sum(src, head);
    }
    uint32_t lines = (len - head) / LINE;
    uint64_t body = stream_copy_sum(dst + head, src + head, lines, stream);
    uint32_t done = head + lines * LINE;

    memcpy(dst + done, src + done, len - done);
    uint64_t tail = frame_sum(src + done, len - done);

    /* if head is odd, everything after it starts at an odd offset */
    return sum + (head & 1 ? sum_odd(body) + sum_odd(tail) : body + tail);
}

void place_mbuf(uint8_t *dst, const struct rte_mbuf *m, uint32_t off, uint32_t len, bool stream,
                uint64_t *sum)
{
    uint32_t done = 0;

    while (off >= m->data_len && len > 0) {
        off -= m->data_len;
        m = m->next;
    }
    while (done < len) {
        const uint8_t *src = rte_pktmbuf_mtod_offset(m, const uint8_t *, off);
        uint32_t n = RTE_MIN((uint32_t)m->data_len - off, len - done);

        if (sum != NULL) {
            uint64_t part = place_copy_sum(dst + done, src, n, stream);

            *sum += done & 1 ? sum_odd(part) : part;
        } else {
            place_copy(dst + done, src, n, stream);
        }
        done += n;
        off = 0;
        m = m->next;
    }
}

uint64_t place_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
    uint64_t sum = 0;
    uint32_t done = 0;

    while (off >= m->data_len && len > 0) {
        off -= m->data_len;
        m = m->next;
    }
    while (done < len) {
        uint32_t n = RTE_MIN((uint32_t)m->data_len - off, len - done);
        uint64_t part = frame_sum(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), n);

        sum += done & 1 ? sum_odd(part) : part;
        done += n;
        off = 0;
        m = m->next;
    }
    return sum;
}

void place_fence(void)
{
    stream_fence();
}
