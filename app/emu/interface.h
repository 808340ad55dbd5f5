/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports on a Linux interface (AF_PACKET, AF_XDP): room for the large frames that a kernel gives
 * there, what is to be done with them (drivers/offload.h), and a word to the operator where nothing
 * can be.
 */
#ifndef EMU_INTERFACE_H
#define EMU_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/offload.h"
#include "emu/port.h"

struct interface {
    bool is; /* the port is one */
    bool said_large, said_truncated;
    struct rte_mempool *pool; /* of frames as they come; NULL: those of the box */
    struct offload offload;
};

/* Before the EAL starts: packet sockets among its --vdev arguments that do not say how large the
 * frames of their rings are get the largest there are. 0 or -ENOMEM. */
int interface_args(int argc, char **argv);
/* Of port p, number n; pool: where frames of mtu bytes wait. 0, or negative errno with a line. */
int interface_make(struct interface *f, const struct port *p, unsigned int n, uint64_t mtu,
                   struct rte_mempool *pool, char *err, size_t err_len);
void interface_unmake(struct interface *f);
/* Says what has been lost there, once, with the cure. From any thread, one at a time. */
void interface_say(struct interface *f, const struct port *p);

#endif
