/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports on a Linux interface (AF_PACKET, AF_XDP). A kernel gives large frames there: they get room,
 * and are processed (drivers/offload.h). Where nothing can be done with them, the operator is told.
 */
#ifndef EMU_INTERFACE_H
#define EMU_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/offload.h"
#include "emu/port.h"

struct interface {
    bool is; /* the port is on a Linux interface */
    bool said_large, said_truncated;
    struct rte_mempool *pool; /* for received frames; NULL: the box's pool */
    struct offload offload;
};

/* To be called before the EAL starts. Gives packet sockets among the --vdev arguments the largest
 * ring frames there are, unless the argument sets their size. Returns 0 or -ENOMEM. */
int interface_args(int argc, char **argv);
/* Makes f for port p, number n. pool: where frames of mtu bytes wait. Returns 0, or negative errno
 * with a line in err. */
int interface_make(struct interface *f, const struct port *p, unsigned int n, uint64_t mtu,
                   struct rte_mempool *pool, char *err, size_t err_len);
void interface_unmake(struct interface *f);
/* Prints each kind of loss there once, with the cure. From any thread, one at a time. */
void interface_say(struct interface *f, const struct port *p);

#endif
