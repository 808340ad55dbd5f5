/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Big-endian fields at any address: one load or store each, no alignment needed. p points at the
 * field's first byte; the caller has checked that the field lies within its buffer.
 */
#ifndef SLUICE_WIRE_BYTES_H
#define SLUICE_WIRE_BYTES_H

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

static inline uint16_t bytes_get_u16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return rte_be_to_cpu_16(v);
}

static inline uint32_t bytes_get_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return rte_be_to_cpu_32(v);
}

static inline uint64_t bytes_get_u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return rte_be_to_cpu_64(v);
}

static inline void bytes_put_u16(uint8_t *p, uint16_t v)
{
    v = rte_cpu_to_be_16(v);
    memcpy(p, &v, sizeof v);
}

static inline void bytes_put_u32(uint8_t *p, uint32_t v)
{
    v = rte_cpu_to_be_32(v);
    memcpy(p, &v, sizeof v);
}

static inline void bytes_put_u64(uint8_t *p, uint64_t v)
{
    v = rte_cpu_to_be_64(v);
    memcpy(p, &v, sizeof v);
}

#endif
