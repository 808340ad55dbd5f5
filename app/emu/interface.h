/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports on a Linux interface (AF_PACKET, AF_XDP). From there, frames may come that are larger than
 * the MTU. The ring gets room for such frames, and drivers/offload.h cuts them. Frames that cannot
 * be cut are lost, and the operator is told.
 */
#ifndef EMU_INTERFACE_H
#define EMU_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/port.h"
#include "drivers/cable.h"
#include "drivers/offload.h"

struct interface {
    bool is; /* the port is on a Linux interface */
    bool said_large, said_truncated;
    struct rte_mempool *pool;                 /* for received frames; NULL: the box's pool */
    struct offload offload[CABLE_QUEUES_MAX]; /* [q]: for a path that begins with queue q */
};

/* To be called before the EAL starts. Gives packet sockets among the --vdev arguments the largest
 * ring frames there are, unless the argument sets their size. Returns 0 or -ENOMEM. */
int interface_args(int argc, char **argv);
/* Makes f for p, which is port n of the box (0 or 1). pool: for the frames that f.offload makes, of
 * at most mtu bytes of IP. Returns 0, or negative errno with a line in err. */
int interface_make(struct interface *f, const struct port *p, unsigned int n, uint64_t mtu,
                   struct rte_mempool *pool, char *err, size_t err_len);
void interface_unmake(struct interface *f);
/* What the frames of a path need that begins with queue q; NULL: nothing. */
struct offload *interface_offload(struct interface *f, uint16_t q);
/* Sums the counts of all queues. */
void interface_counts(const struct interface *f, struct offload_counts *sum);
/* Prints, once for each kind of loss, that the interface loses frames, with the cure. May be called
 * by any thread, but by one at a time. */
void interface_say(struct interface *f, const struct port *p);

#endif
