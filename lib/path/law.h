/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laws of random delays: a mean, and a spread that is half the width of the uniform law and the
 * standard deviation of the others.
 *
 * normal, pareto (shape 3) and paretonormal (a quarter normal, three quarters pareto) are tables of
 * 4096 pieces of their quantile functions with straight lines between, made by quantiles.py so that
 * mean and deviation are exact: the tails end at about 4, 35 and 27 deviations. A file is as
 * netem's: whole numbers, 8192 per deviation, each as likely as the others.
 */
#ifndef SLUICE_PATH_LAW_H
#define SLUICE_PATH_LAW_H

#include <stdint.h>

#define LAW_TABLE_MAX 65536u
#define LAW_PIECES    4096u

enum law_kind { LAW_UNIFORM, LAW_NORMAL, LAW_PARETO, LAW_PARETONORMAL, LAW_FILE };

struct law {
    enum law_kind kind;
    const int32_t *table; /* LAW_FILE: size numbers, whose memory is the reader's */
    uint32_t size;
};

/* The value that belongs to a uniform 64-bit number, not below 0. Units of mean and spread. */
uint64_t law_value(const struct law *l, uint64_t number, uint64_t mean, uint64_t spread);

#endif
