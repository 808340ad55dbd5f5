/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What net_memif leaves to its application: a server finds the socket of a dead one in its way, a
 * client does not connect again by itself. See also grace.h.
 */
#ifndef SLUICED_MEMIF_H
#define SLUICED_MEMIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memif_args {
    bool server, zero_copy;
    uint32_t bsize_bytes;
    char socket[108]; /* "": an abstract one, which no dead process leaves behind */
};

/* From the arguments of a vdev ("role=server,id=0,..."), with the driver's defaults. */
void memif_args_parse(struct memif_args *m, const char *args);
/* Removes a server's socket file that nobody listens on. */
void memif_socket_clean(const struct memif_args *m);

#endif
