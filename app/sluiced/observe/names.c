/* SPDX-License-Identifier: BSD-3-Clause */
#include "sluiced/observe/names.h"

#include <stdio.h>
#include <string.h>

int port_by_name(const struct daemon *d, const char *name)
{
    for (uint32_t p = 0; p < d->n_ports; p++)
        if (strcmp(d->ports[p].cfg->name, name) == 0)
            return (int)p;
    return -1;
}

const char *port_queue_name(const struct port_queue *q, char name[PORT_QUEUE_NAME_MAX])
{
    snprintf(name, PORT_QUEUE_NAME_MAX, "%s/%u", q->port->cfg->name, q->queue);
    return name;
}

const struct port_queue *port_queue_by_name(const struct daemon *d, const char *wanted)
{
    char name[PORT_QUEUE_NAME_MAX];

    for (uint32_t i = 0; wanted != NULL && i < d->n_queues; i++)
        if (strcmp(port_queue_name(&d->queues[i], name), wanted) == 0)
            return &d->queues[i];
    return NULL;
}
