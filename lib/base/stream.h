/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of whole cache lines that are not read again soon: they bypass the caches where the
 * instruction set can do that, which also saves reading the destination's lines first; and the same
 * copy with a sum of 32-bit words. x86 has non-temporal stores (SSE2). AArch64 has no such store
 * for single registers, but its cores notice long runs of stores by themselves; NEON serves for the
 * sum. On other machines, and where STREAM_SCALAR is defined, plain C does the work.
 *
 * Lengths are in lines. A streamed destination is aligned to a line. The source may end anywhere:
 * at most STREAM_AHEAD_BYTES beyond it are prefetched, but not read. The caller calls
 * stream_fence() before it tells another core about streamed bytes.
 *
 * The sum is that of the words as this machine reads them. 2^32 = 1 (mod 2^16 - 1), so it folds to
 * the same 16 bits as a sum of 16-bit words (RFC 1071, section 2). It does not overflow below 2^32
 * lines.
 */
#ifndef SLUICE_BASE_STREAM_H
#define SLUICE_BASE_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define STREAM_LINE        64u
#define STREAM_AHEAD_BYTES 1024u

#if defined(__SSE2__) && !defined(STREAM_SCALAR)
#include <emmintrin.h>

#define STREAM_KIND "SSE2"

static inline void stream_fence(void)
{
    _mm_sfence();
}

static inline void stream_line(uint8_t *dst, const uint8_t *src)
{
    const __m128i *from = (const __m128i *)(const void *)src;
    __m128i *to = (__m128i *)(void *)dst;
    __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1), c = _mm_loadu_si128(from + 2),
            d = _mm_loadu_si128(from + 3);

    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
}

static inline uint64_t stream_copy_sum(uint8_t *dst, const uint8_t *src, uint32_t lines,
                                       bool stream)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i lo = zero, hi = zero; /* two sums of 64 bits each */
    uint64_t half[2];

    for (; lines > 0; lines--, dst += STREAM_LINE, src += STREAM_LINE) {
        __builtin_prefetch(src + STREAM_AHEAD_BYTES);
        for (unsigned int i = 0; i < STREAM_LINE; i += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(src + i));

            lo = _mm_add_epi64(lo, _mm_unpacklo_epi32(v, zero));
            hi = _mm_add_epi64(hi, _mm_unpackhi_epi32(v, zero));
            if (stream)
                _mm_stream_si128((__m128i *)(void *)(dst + i), v);
            else
                _mm_storeu_si128((__m128i *)(void *)(dst + i), v);
        }
    }
    _mm_storeu_si128((__m128i *)(void *)half, _mm_add_epi64(lo, hi));
    return (half[0] & UINT32_MAX) + (half[0] >> 32) + (half[1] & UINT32_MAX) + (half[1] >> 32);
}

#elif defined(__ARM_NEON) && !defined(STREAM_SCALAR)
#include <arm_neon.h>

#define STREAM_KIND "NEON"

static inline void stream_fence(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void stream_line(uint8_t *dst, const uint8_t *src)
{
    for (unsigned int i = 0; i < STREAM_LINE; i += 16)
        vst1q_u8(dst + i, vld1q_u8(src + i));
}

static inline uint64_t stream_copy_sum(uint8_t *dst, const uint8_t *src, uint32_t lines,
                                       bool stream)
{
    uint64x2_t sums = vdupq_n_u64(0);
    uint64_t half[2];

    (void)stream; /* see above */
    for (; lines > 0; lines--, dst += STREAM_LINE, src += STREAM_LINE) {
        __builtin_prefetch(src + STREAM_AHEAD_BYTES);
        for (unsigned int i = 0; i < STREAM_LINE; i += 16) {
            uint8x16_t v = vld1q_u8(src + i);

            sums = vpadalq_u32(sums, vreinterpretq_u32_u8(v));
            vst1q_u8(dst + i, v);
        }
    }
    vst1q_u64(half, sums);
    return (half[0] & UINT32_MAX) + (half[0] >> 32) + (half[1] & UINT32_MAX) + (half[1] >> 32);
}

#else

#define STREAM_KIND "scalar"

static inline void stream_fence(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void stream_line(uint8_t *dst, const uint8_t *src)
{
    memcpy(dst, src, STREAM_LINE);
}

static inline uint64_t stream_copy_sum(uint8_t *dst, const uint8_t *src, uint32_t lines,
                                       bool stream)
{
    uint64_t sum = 0;

    (void)stream;
    for (; lines > 0; lines--, dst += STREAM_LINE, src += STREAM_LINE) {
        for (unsigned int i = 0; i < STREAM_LINE; i += 4) {
            uint32_t v;

            memcpy(&v, src + i, sizeof v);
            memcpy(dst + i, &v, sizeof v);
            sum += v;
        }
    }
    return (sum & UINT32_MAX) + (sum >> 32);
}

#endif

/* Copies lines to an aligned destination, past the caches. */
static inline void stream_copy(uint8_t *dst, const uint8_t *src, uint32_t lines)
{
    for (; lines > 0; lines--, dst += STREAM_LINE, src += STREAM_LINE) {
        __builtin_prefetch(src + STREAM_AHEAD_BYTES);
        stream_line(dst, src);
    }
}

#endif
