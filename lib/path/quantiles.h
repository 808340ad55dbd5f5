/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quantile functions of laws with mean 0 and standard deviation 1, at 0, 1/4096 .. 1, in units of 1
 * / QUANTILES_ONE. Made by quantiles.py when the library is built.
 */
#ifndef SLUICE_PATH_QUANTILES_H
#define SLUICE_PATH_QUANTILES_H

#include <stdint.h>

#include "path/law.h"

#define QUANTILES_ONE (1 << 25)

extern const int32_t quantiles_normal[LAW_PIECES + 1];
extern const int32_t quantiles_pareto[LAW_PIECES + 1];
extern const int32_t quantiles_paretonormal[LAW_PIECES + 1];

#endif
