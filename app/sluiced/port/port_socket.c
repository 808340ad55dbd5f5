/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's sockets behind the queues of AF_PACKET and AF_XDP ports. Their drivers tell nobody
 * which they are, so they are looked for among the descriptors of the process. */
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

#include "common/queues.h"
#include "sluiced/port/port.h"

static bool socket_is(int fd, int domain)
{
    int found = 0;
    socklen_t len = sizeof found;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &len) == 0 && found == domain;
}

/* Is fd a packet socket on the interface of this index? */
static bool socket_on(int fd, uint32_t index)
{
    struct sockaddr_ll at = {0};
    socklen_t len = sizeof at;

    return socket_is(fd, AF_PACKET) && getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
           at.sll_ifindex == (int)index;
}

void port_sockets_note(const struct port *p, struct port_sockets *s)
{
    memset(s, 0, sizeof *s);
    if (strcmp(p->driver, "net_af_xdp") != 0)
        return;
    for (int fd = 0; fd < PORT_SOCKET_FDS; fd++)
        s->open[fd] = socket_is(fd, AF_XDP);
}

int port_socket_made(const struct port *p, const struct port_sockets *before)
{
    if (strcmp(p->driver, "net_af_xdp") != 0)
        return -1;
    for (int fd = 0; fd < PORT_SOCKET_FDS; fd++) {
        if (!before->open[fd] && socket_is(fd, AF_XDP))
            return fd;
    }
    return -1;
}

/* The driver made the sockets of an interface in the order of the queues. If there are more than
 * this port has, another port is on the same interface, and nothing tells whose they are. */
static int packet_socket(const struct port *p, uint16_t queue)
{
    struct rte_eth_dev_info info;
    int found = -1, n = 0;

    memset(&info, 0, sizeof info);
    if (rte_eth_dev_info_get(p->id, &info) != 0 || info.if_index == 0)
        return -1;
    for (int fd = 0; fd < PORT_SOCKET_FDS; fd++) {
        if (socket_on(fd, info.if_index) && n++ == queue)
            found = fd;
    }
    return n == queues_max(&info) ? found : -1;
}

int port_socket(const struct port *p, uint16_t queue)
{
    return strcmp(p->driver, "net_af_packet") == 0 ? packet_socket(p, queue) : p->sockets[queue];
}
