/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs that are lists of bytes. */
#ifndef SLUICE_TEST_FUZZ_GOLDEN_H
#define SLUICE_TEST_FUZZ_GOLDEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fuzz_golden {
    uint8_t len;
    uint8_t bytes[120];
};

#define GOLDEN(...)                                                                                \
    {                                                                                              \
        sizeof((uint8_t[]){__VA_ARGS__}),                                                          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* golden_put() for a list of n. */
static inline size_t golden_copy(const struct fuzz_golden *goldens, size_t n, unsigned int i,
                                 uint8_t *p)
{
    if (i >= n)
        return 0;
    memcpy(p, goldens[i].bytes, goldens[i].len);
    return goldens[i].len;
}

#endif
