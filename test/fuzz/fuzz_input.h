/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the input of a fuzz target as a program: each step takes the bytes that it needs. Behind
 * the end, all bytes are 0. */
#ifndef SLUICE_TEST_FUZZ_INPUT_H
#define SLUICE_TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct fuzz_input {
    const uint8_t *at, *end;
};

static inline bool input_left(const struct fuzz_input *in)
{
    return in->at < in->end;
}

static inline uint8_t input_u8(struct fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static inline uint32_t input_u16(struct fuzz_input *in)
{
    uint32_t high = input_u8(in);

    return high << 8 | input_u8(in);
}

/* A number of any size in few bytes: the first byte says how many follow. */
static inline uint64_t input_number(struct fuzz_input *in)
{
    uint8_t first = input_u8(in);
    uint64_t v = 0;

    if (first < 0xf0)
        return first;
    for (int i = first & 7; i >= 0; i--)
        v = v << 8 | input_u8(in);
    return v;
}

static inline void input_bytes(struct fuzz_input *in, uint8_t *to, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = input_u8(in);
}

/* Changes up to three bytes of a message, as the input says: most messages must be nearly right. */
static inline void input_patch(struct fuzz_input *in, uint8_t *message, size_t len)
{
    for (uint32_t n = input_u8(in) & 3; n > 0 && len > 0; n--) {
        uint32_t at = input_u16(in);

        message[at % len] ^= input_u8(in);
    }
}

/* A copy that ends where its memory ends, for AddressSanitizer. The caller frees it. */
static inline uint8_t *exact_copy(const uint8_t *p, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);

    CHECK(copy != NULL);
    if (len > 0)
        memcpy(copy, p, len);
    return copy;
}

#endif
