/* SPDX-License-Identifier: BSD-3-Clause */
#include "sluiced/names.h"

#include <stdio.h>
#include <string.h>

int port_by_name(const struct daemon *d, const char *name)
{
    for (uint32_t p = 0; p < d->n_ports; p++)
        if (strcmp(d->ports[p].cfg->name, name) == 0)
            return (int)p;
    return -1;
}

const char *lane_name(const struct lane *l, char name[LANE_NAME_MAX])
{
    snprintf(name, LANE_NAME_MAX, "%s/%u", l->port->cfg->name, l->queue);
    return name;
}

const struct lane *lane_by_name(const struct daemon *d, const char *wanted)
{
    char name[LANE_NAME_MAX];

    for (uint32_t i = 0; wanted != NULL && i < d->n_lanes; i++)
        if (strcmp(lane_name(&d->lanes[i], name), wanted) == 0)
            return &d->lanes[i];
    return NULL;
}
