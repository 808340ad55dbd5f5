/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums the counters of a direction over its paths, of which there may be one for each queue. */
#ifndef EMU_SUM_H
#define EMU_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/box.h"

/* Of all paths of a direction. Counters that are a maximum are the maximum of all. */
struct sum {
    struct cable_counts cable;
    struct path_counts path;
    struct offload_counts offload;
};
void sum_direction(const struct box *b, unsigned int i, struct sum *s);

struct sum_element {
    struct path_element_info info; /* of the first path; its pointers lead to the sums below */
    struct path_element_counts counts;
    struct histogram delay, queue;
};
/* Sums element k of direction i; false if there is no element k. */
bool sum_element(const struct box *b, unsigned int i, uint32_t k, struct sum_element *e);

#endif
