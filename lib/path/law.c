/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/law.h"

#include <string.h>

#include <rte_common.h>

#include "path/file.h"
#include "path/quantiles.h"

typedef __int128 i128;

/* mean + spread * t / scale, rounded to the nearest, at least 0. */
static uint64_t scaled(uint64_t mean, uint64_t spread, i128 t, i128 scale)
{
    i128 x = (i128)spread * t;

    x = (i128)mean + (x + (x < 0 ? -scale / 2 : scale / 2)) / scale;
    if (x < 0)
        return 0;
    return x > INT64_MAX ? INT64_MAX : (uint64_t)x;
}

/* Interpolates between two entries of a quantile table. */
static uint64_t piece(const int32_t *q, uint64_t number, uint64_t mean, uint64_t spread)
{
    const int32_t *at = q + (number >> 52);
    i128 part = (i128)(number >> 20 & UINT32_MAX); /* place between the two entries, in 2^-32 */
    i128 t = at[0] * ((i128)1 << 32) + ((i128)at[1] - at[0]) * part;

    return scaled(mean, spread, t, (i128)QUANTILES_ONE << 32);
}

uint64_t law_value(const struct law *l, uint64_t number, uint64_t mean, uint64_t spread)
{
    switch (l->kind) {
    case LAW_NORMAL:
        return piece(quantiles_normal, number, mean, spread);
    case LAW_PARETO:
        return piece(quantiles_pareto, number, mean, spread);
    case LAW_PARETONORMAL:
        return piece(quantiles_paretonormal, number, mean, spread);
    case LAW_FILE:
        return scaled(mean, spread, l->table[(uint64_t)((unsigned __int128)number * l->size >> 64)],
                      8192);
    case LAW_UNIFORM:
        break;
    }
    /* uniform over mean - spread .. mean + spread, both ends included */
    uint64_t width = (uint64_t)((unsigned __int128)number * (2 * spread + 1) >> 64);

    return mean + width < spread ? 0 : mean + width - spread;
}

int law_parse(struct spec *s, struct law *law)
{
    static const char *const names[] = {"uniform", "normal", "pareto", "paretonormal"};

    for (unsigned int i = 0; i < RTE_DIM(names); i++)
        if (spec_accept(s, names[i])) {
            law->kind = (enum law_kind)i;
            return 0;
        }
    if (strpbrk(s->word, "./") == NULL)
        return spec_stray(s, "is no distribution, nor a file (whose name has a . or /)");
    law->kind = LAW_FILE;
    return file_numbers_alloc(s, "distribution", INT32_MIN, LAW_TABLE_MAX, &law->table, &law->size);
}
