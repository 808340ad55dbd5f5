/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the MTU of a port. See port.h. ethdev's answer counts, with two exceptions. memif has no
 * MTU: the buffers of its ring bound its frames (memif.h). AF_PACKET up to 24.11 claims a maximum
 * of 1500 bytes, but in truth the interface and framesz decide.
 */
#include "sluiced/port/port.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_errno.h>

/* The kernel writes a received frame so far behind the beginning of a frame of AF_PACKET's ring:
 * TPACKET2_HDRLEN and 16 bytes, aligned to 16, less the Ethernet header (tpacket_rcv()). What does
 * not fit behind it is cut off. */
#define PACKET_OVERHEAD ((uint32_t)TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - RTE_ETHER_HDR_LEN)
/* With a larger MTU, the kernel silently drops frames on some interfaces (veth). */
#define XDP_MTU_MAX     3000u

/* MTU of a Linux interface, 0 if it is not known. */
static uint32_t interface_mtu(const char *name)
{
    struct ifreq request;
    uint32_t mtu = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return 0;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, SIOCGIFMTU, &request) == 0)
        mtu = (uint32_t)request.ifr_mtu;
    close(fd);
    return mtu;
}

/* Copies the value of "iface=" to name, at most IFNAMSIZ bytes. */
static void interface_name(const struct port *p, char *name)
{
    const char *at = strstr(port_args(p), "iface=");

    name[0] = '\0';
    if (at != NULL)
        snprintf(name, IFNAMSIZ, "%.*s", (int)strcspn(at + 6, ","), at + 6);
}

static int mtu_set_packet(const struct port *p, char *err, size_t err_len)
{
    uint32_t framesz = port_arg_number(p, "framesz=", 2048), mtu = p->cfg->mtu_bytes;
    uint32_t frame = mtu + RTE_ETHER_HDR_LEN + (p->cfg->vlan != 0 ? 4 : 0);
    char name[IFNAMSIZ];

    interface_name(p, name);
    if (framesz < frame + PACKET_OVERHEAD) {
        snprintf(
            err, err_len,
            "port %s: mtu = %u does not fit framesz=%u; give its vdev framesz=%u and a blocksz "
            "that is a multiple of it and of the page size, or lower mtu",
            p->cfg->name, mtu, framesz, RTE_ALIGN_CEIL(frame + PACKET_OVERHEAD, 1024));
        return -EINVAL;
    }
    if (interface_mtu(name) < mtu) {
        snprintf(err, err_len,
                 "port %s: mtu = %u is more than the %u of interface %s; ip link set %s mtu %u, or "
                 "lower mtu",
                 p->cfg->name, mtu, interface_mtu(name), name, name, mtu);
        return -EINVAL;
    }
    return 0;
}

static int mtu_check_xdp(const struct port *p, char *err, size_t err_len)
{
    if (p->cfg->mtu_bytes <= XDP_MTU_MAX)
        return 0;
    snprintf(err, err_len,
             "port %s: mtu = %u: AF_XDP's buffers of one page take at most %u; lower mtu, or use "
             "net_af_packet",
             p->cfg->name, p->cfg->mtu_bytes, XDP_MTU_MAX);
    return -EINVAL;
}

int port_mtu_set(const struct port *p, const struct rte_eth_dev_info *info, char *err,
                 size_t err_len)
{
    uint16_t now = 0;
    int rc;

    if (strcmp(p->driver, "net_af_packet") == 0)
        return mtu_set_packet(p, err, err_len);
    if (strcmp(p->driver, "net_af_xdp") == 0 && mtu_check_xdp(p, err, err_len) != 0)
        return -EINVAL;
    if (p->is_memif && memif_bsize_check(&p->memif, p->cfg, "", err, err_len) != 0)
        return -EINVAL;
    rc = rte_eth_dev_set_mtu(p->id, (uint16_t)p->cfg->mtu_bytes);
    if (rc == 0 || (rc == -ENOTSUP && p->traits.software))
        return 0;
    if (rte_eth_dev_get_mtu(p->id, &now) == 0 && now == p->cfg->mtu_bytes)
        return 0;
    snprintf(err, err_len, "port %s: mtu = %u: %s takes at most %u (%s); lower mtu", p->cfg->name,
             p->cfg->mtu_bytes, p->driver, info->max_mtu, rte_strerror(-rc));
    return -EINVAL;
}
