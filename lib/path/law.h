/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributions of random delays. Each has a mean and a spread: half the width for the uniform law,
 * the standard deviation for the others.
 *
 * normal, pareto (shape 3) and paretonormal (a quarter normal, three quarters pareto) are tables of
 * their quantile functions: 4096 pieces, with straight lines between. quantiles.py makes them so
 * that mean and deviation are exact; the tails of the three laws end at about 4, 35 and 27
 * deviations. A file has netem's format: whole numbers, 8192 per deviation, each as likely as the
 * others.
 */
#ifndef SLUICE_PATH_LAW_H
#define SLUICE_PATH_LAW_H

#include <stdint.h>

#include "path/spec.h"

#define LAW_TABLE_MAX 65536u
#define LAW_PIECES    4096u

enum law_kind { LAW_UNIFORM, LAW_NORMAL, LAW_PARETO, LAW_PARETONORMAL, LAW_FILE };

struct law {
    enum law_kind kind;
    const int32_t *table; /* LAW_FILE: `size` numbers, owned by the caller of law_parse() */
    uint32_t size;
};

/* Reads what follows "distribution": a name, or a file, whose numbers the caller frees with
 * rte_free(). 0, or an error kept in s. */
int law_parse(struct spec *s, struct law *law);

/* Maps a uniform 64-bit number to a value of the law, at least 0, in the unit of mean and
 * spread. */
uint64_t law_value(const struct law *l, uint64_t number, uint64_t mean, uint64_t spread);

#endif
