/* SPDX-License-Identifier: BSD-3-Clause */
#include "vt/place.h"

#include <emmintrin.h>
#include <string.h>

#include "wire/frame.h"

#define LINE        64u
#define AHEAD_BYTES 1024u /* how far the source is prefetched */

/* Copies whole cache lines to a line-aligned destination with streaming stores. */
static void stream_lines(uint8_t *dst, const uint8_t *src, uint32_t lines)
{
    for (; lines > 0; lines--, dst += LINE, src += LINE) {
        _mm_prefetch((const char *)src + AHEAD_BYTES, _MM_HINT_T0);
        __m128i a = _mm_loadu_si128((const __m128i *)src);
        __m128i b = _mm_loadu_si128((const __m128i *)(src + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(src + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(src + 48));

        _mm_stream_si128((__m128i *)dst, a);
        _mm_stream_si128((__m128i *)(dst + 16), b);
        _mm_stream_si128((__m128i *)(dst + 32), c);
        _mm_stream_si128((__m128i *)(dst + 48), d);
    }
}

void place_copy(uint8_t *dst, const uint8_t *src, uint32_t len, bool stream)
{
    if (!stream || len < 4 * LINE) {
        memcpy(dst, src, len);
        return;
    }
    uint32_t head = (uint32_t)(-(uintptr_t)dst & (LINE - 1));

    memcpy(dst, src, head);
    dst += head, src += head, len -= head;
    stream_lines(dst, src, len / LINE);
    memcpy(dst + (len & ~(LINE - 1)), src + (len & ~(LINE - 1)), len & (LINE - 1));
}

/* Adds the four 32-bit words of v to four 64-bit accumulators, two in lo and two in hi. */
static inline void sum_add(__m128i *lo, __m128i *hi, __m128i v)
{
    const __m128i zero = _mm_setzero_si128();

    *lo = _mm_add_epi64(*lo, _mm_unpacklo_epi32(v, zero));
    *hi = _mm_add_epi64(*hi, _mm_unpackhi_epi32(v, zero));
}

/* Adds up the accumulators. 2^32 = 1 (mod 2^16 - 1), so a sum of 32-bit words folds to the same 16
 * bits as a sum of 16-bit words. */
static uint64_t sum_words(__m128i lo, __m128i hi)
{
    uint64_t half[2];

    _mm_storeu_si128((__m128i *)half, _mm_add_epi64(lo, hi));
    uint64_t sum = (half[0] & 0xffffffff) + (half[0] >> 32);

    return sum + (half[1] & 0xffffffff) + (half[1] >> 32);
}

/* Copies whole cache lines and sums them. If streamed, the destination must be line-aligned. */
static uint64_t copy_sum_lines(uint8_t *dst, const uint8_t *src, uint32_t lines, bool stream)
{
    __m128i lo = _mm_setzero_si128(), hi = _mm_setzero_si128();

    for (; lines > 0; lines--, dst += LINE, src += LINE) {
        _mm_prefetch((const char *)src + AHEAD_BYTES, _MM_HINT_T0);
        for (unsigned int i = 0; i < LINE; i += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(src + i));

            sum_add(&lo, &hi, v);
            if (stream)
                _mm_stream_si128((__m128i *)(dst + i), v);
            else
                _mm_storeu_si128((__m128i *)(dst + i), v);
        }
    }
    return sum_words(lo, hi);
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
    uint64_t body = copy_sum_lines(dst + head, src + head, lines, stream);
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
    _mm_sfence();
}
