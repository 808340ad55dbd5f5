/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control decided last: a ring of which the oldest are forgotten. Decision number n stands at
 * ring[n % HOST_HISTORY] while count - HOST_HISTORY <= n < count. All of it is the control lcore's.
 */
#ifndef SLUICE_HOST_HISTORY_H
#define SLUICE_HOST_HISTORY_H

#include <stdint.h>

#include "host/host.h"

struct history {
    struct host_decision ring[HOST_HISTORY];
    uint64_t count; /* decisions so far */
};

/* Numbers it; the rest is as given. */
static inline void history_add(struct history *h, struct host_decision d)
{
    d.number = h->count++;
    h->ring[d.number % HOST_HISTORY] = d;
}

#endif
