/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/layout.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void layout_make(struct layout *l, uint16_t asked, const uint16_t usual[2], const bool divided[2],
                 uint16_t workers)
{
    l->queues = asked;
    if (asked == 0)
        l->queues = (uint16_t)least(least(usual[0], usual[1]), LAYOUT_QUEUES_MAX);
    for (unsigned int i = 0; i < 2; i++)
        l->paths[i] = divided[i] ? l->queues : 1;
    l->workers = (uint16_t)least(workers, (uint32_t)l->paths[0] + l->paths[1]);
}

uint16_t layout_worker(const struct layout *l, unsigned int direction, uint16_t path)
{
    uint32_t place = path;

    if (direction == 1) {
        place += l->paths[0];
        /* One step further, or the worker of a queue in one direction would have it in the other,
         * too, and the other workers would be idle when one queue is busy. */
        if (l->paths[0] % l->workers == 0)
            place++;
    }
    return (uint16_t)(place % l->workers);
}
