/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run found: values by name, and series over time, with units. Printed as one line of JSON:
 *
 *   {"values": {name: number or null}, "units": {name: text},
 *    "series": {name: {"unit": text, "t": [seconds], "v": [numbers]}}}
 */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct result {
    json_t *values, *units, *series;
};

void result_init(struct result *r);
void result_free(struct result *r);
/* Adds a value; NaN: this run has no such value. Formats the name: "throughput.%s". */
__attribute__((format(printf, 4, 5))) void result_value(struct result *r, double value,
                                                        const char *unit, const char *name, ...);
/* Adds a series, which the result owns. */
__attribute__((format(printf, 3, 4))) json_t *result_series(struct result *r, const char *unit,
                                                            const char *name, ...);
void result_point(json_t *series, uint64_t time_ns, double value);
void result_print(const struct result *r, FILE *out);
void result_print_error(const char *what, FILE *out);

#endif
