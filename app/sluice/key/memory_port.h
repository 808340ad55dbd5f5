/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the other end of a port memory of this machine? Then nothing on the way can read or change its
 * packets but what may use that memory, so the default of `security` is none. By the port's name,
 * which begins with its driver's, as DPDK wants it.
 */
#ifndef SLUICE_COMMAND_MEMORY_PORT_H
#define SLUICE_COMMAND_MEMORY_PORT_H

#include <stdbool.h>
#include <string.h>

/* name: of the port; vdev: what makes its device, "" if that exists already. */
static inline bool memory_port(const char *name, const char *vdev)
{
    static const char *const drivers[] = {"net_memif", "net_ring", "net_vhost", "net_virtio_user",
                                          "net_null"};

    if (strstr(vdev, "/dev/vhost-net") !=
        NULL) /* the kernel takes the frames, and may forward them */
        return false;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strncmp(name, drivers[i], strlen(drivers[i])) == 0)
            return true;
    return false;
}

#endif
