/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One queue of a port whose frames go back where they came from (stamp_reflect()).
 *
 *   received = reflected + refused + dropped
 *
 * `refused`: the port took nothing; `dropped`: not IP, or sent to a group.
 */
#ifndef LOAD_REFLECTOR_H
#define LOAD_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "load/window.h"

struct reflector {
    struct window *window;
    uint16_t port, queue;
    uint64_t received, received_bytes, reflected, refused, dropped;
};

/* Takes a burst and sends it back. Returns false when the window is over. */
bool reflector_step(struct reflector *r, uint64_t now);

#endif
