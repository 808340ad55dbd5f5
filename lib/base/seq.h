/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrap-safe comparison of sequence numbers (RFC 1982 arithmetic) and of positions in a flow.
 *
 * A position names one unit of one request: pos = request << 32 | unit. Positions order all units
 * of a flow. Request numbers wrap at 2^32, so positions wrap at 2^64, and compare by the sign of
 * their difference. The end of request r is the start of request r + 1: units after a request's
 * last one do not exist, and their positions count as passed.
 */
#ifndef SLUICE_BASE_SEQ_H
#define SLUICE_BASE_SEQ_H

#include <stdbool.h>
#include <stdint.h>

static inline bool seq32_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool seq64_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

static inline uint64_t seq64_max(uint64_t a, uint64_t b)
{
    return seq64_before(a, b) ? b : a;
}

static inline uint64_t seq64_min(uint64_t a, uint64_t b)
{
    return seq64_before(a, b) ? a : b;
}

static inline uint64_t pos_make(uint32_t request, uint32_t unit)
{
    return (uint64_t)request << 32 | unit;
}

static inline uint32_t pos_request(uint64_t pos)
{
    return (uint32_t)(pos >> 32);
}

static inline uint32_t pos_unit(uint64_t pos)
{
    return (uint32_t)pos;
}

#endif
