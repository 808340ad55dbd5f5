/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SLUICED_SHOW_SPREAD_H
#define SLUICED_SHOW_SPREAD_H

#include <stdint.h>

#include <jansson.h>

#include "sluiced/daemon.h"

/* One connection's histograms, as a new object; NULL if it is free. [any] */
json_t *show_spread(const struct lane *l, uint32_t number);
/* Those of all connections, as an array. [any] */
json_t *show_spreads(const struct daemon *d);

#endif
