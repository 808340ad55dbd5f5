/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and hashes of blocks. See rolling.h. */
#include "sluice/delta/rolling.h"

#ifdef XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include "sluice/files/record.h"

#define CHANGES  20 /* for which the length of a block is best */
#define COLUMNS  16
#define ROWS_MAX 4096 /* so that 255 rows^2 / 2 fits in 32 bits */

uint32_t rolling_block(uint64_t size)
{
    const uint64_t most = (uint64_t)RECORD_BLOCK_MAX * RECORD_BLOCK_MAX;
    uint64_t square = size / CHANGES * RECORD_BLOCK_BYTES;
    uint64_t block = RECORD_BLOCK_MIN;

    square = square < most ? square : most;
    while (block * block < square)
        block += RECORD_BLOCK_MIN;
    return (uint32_t)block;
}

/* Sums over rows of COLUMNS bytes. Each column has its own sums, so that the compiler can use
 * vector instructions: c = sum of d, p = sum of (rows - k) d over its rows k. Byte j of row k has
 * the weight COLUMNS (rows - k) - j. */
static struct rolling sum_rows(const uint8_t *data, uint32_t rows)
{
    uint32_t c[COLUMNS] = {0}, p[COLUMNS] = {0}, j, k;
    struct rolling r = {0};

    for (k = 0; k < rows; k++, data += COLUMNS) {
        for (j = 0; j < COLUMNS; j++)
            c[j] += data[j];
        for (j = 0; j < COLUMNS; j++)
            p[j] += c[j];
    }
    for (j = 0; j < COLUMNS; j++) {
        r.a += c[j];
        r.b += (uint64_t)COLUMNS * p[j] - (uint64_t)j * c[j];
    }
    return r;
}

void rolling_begin(struct rolling *r, const uint8_t *data, uint32_t block)
{
    uint64_t a = 0, b = 0;
    uint32_t rows;

    for (; block >= COLUMNS; block -= rows * COLUMNS, data += rows * COLUMNS) {
        struct rolling part;

        rows = block / COLUMNS < ROWS_MAX ? block / COLUMNS : ROWS_MAX;
        part = sum_rows(data, rows);
        b += (uint64_t)rows * COLUMNS * a + part.b;
        a += part.a;
    }
    for (; block > 0; block--, data++) {
        a += *data;
        b += a;
    }
    *r = (struct rolling){.a = a, .b = b};
}

uint64_t rolling_strong(const uint8_t *data, uint32_t block, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, block, seed) >> 16;
}
