/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_memif leaves two tasks to its application. One is here: to remove the socket file of a dead
 * server, which is in the way of a new one. The other is in links.c: to reconnect a client. See
 * also grace.h.
 */
#ifndef SLUICED_MEMIF_H
#define SLUICED_MEMIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluiced/config/config.h"

struct memif_args {
    bool server, zero_copy;
    uint32_t bsize_bytes;
    char socket[108]; /* "": an abstract socket, which no dead process leaves behind */
};

/* Parses the arguments of a vdev ("role=server,id=0,..."), with the driver's defaults. */
void memif_args_parse(struct memif_args *m, const char *args);
/* Does a buffer hold a frame of the port's MTU, with a VLAN tag? The driver can put a frame into
 * several buffers. But then it writes into one more than are free if the ring is nearly full, and
 * leaves marks behind that join later frames: eth_memif_tx() of DPDK 22.11 to 25.11. Returns 0, or
 * -EINVAL with a message. of: what follows "bsize" there, such as " of exception = ..." */
int memif_bsize_check(const struct memif_args *m, const struct config_port *cfg, const char *of,
                      char *err, size_t err_len);
/* Removes the socket file of a vdev ("net_memif0,role=server,...") if it is a memif's server and no
 * process listens on the socket. */
void memif_vdev_clean(const char *vdev);

#endif
