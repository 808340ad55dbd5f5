/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/interface.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "base/counter.h"
#include "common/say.h"
#include "drivers/cable.h"

/*
 * The frames of a packet socket's ring are about as large as an mbuf can be (65535 bytes). They
 * must fill each block to its last byte, because the driver expects frame i at i times the frame
 * size: 32 frames of 16 * 4088 bytes fill a block of 511 pages. The longest frame that Linux's TCP
 * makes by itself has 65281 bytes (64 KiB less MAX_TCP_HEADER of 320 and one, plus 66 of headers).
 */
#define RING_FRAME     65408u
#define RING_BLOCK     2093056u
#define RING_FRAMES    256u
#define RING_PAGE      4096
/* At most so many bytes of a ring frame come before the packet (TPACKET2_HDRLEN and an address,
 * aligned). */
#define RING_HEADER    80u
#define FRAMES_AT_ONCE (4 * CABLE_BURST)

/* Makes a packet socket's --vdev argument ask for large ring frames, unless it already sets a size
 * or number of frames. */
static int arg_enlarge(char **arg)
{
    const char *value = strncmp(*arg, "--vdev=", 7) == 0 ? *arg + 7 : *arg;
    char *larger = NULL;

    if (!port_is_packet_socket(value) || strstr(value, "framesz=") != NULL ||
        strstr(value, "blocksz=") != NULL || strstr(value, "framecnt=") != NULL)
        return 0;
    if (asprintf(&larger, "%s,blocksz=%u,framesz=%u,framecnt=%u", *arg, RING_BLOCK, RING_FRAME,
                 RING_FRAMES) < 0)
        return -ENOMEM;
    *arg = larger; /* never freed: the EAL's devices use it to the end of the program */
    return 0;
}

int interface_args(int argc, char **argv)
{
    int rc = 0;

    if (sysconf(_SC_PAGESIZE) != RING_PAGE) /* keeps the driver's own sizes */
        return 0;
    for (int i = 1; i < argc && rc == 0; i++)
        if (strncmp(argv[i], "--vdev=", 7) == 0 || strcmp(argv[i - 1], "--vdev") == 0)
            rc = arg_enlarge(&argv[i]);
    return rc;
}

int interface_make(struct interface *f, const struct port *p, unsigned int n, uint64_t mtu,
                   struct rte_mempool *pool, char *err, size_t err_len)
{
    uint32_t ring = port_arg_number(p, "framesz=", 2048);
    char name[RTE_MEMPOOL_NAMESIZE];

    bool packet_socket = port_is_packet_socket(p->driver);

    f->is = port_is_interface(p);
    for (uint16_t q = 0; q < CABLE_QUEUES_MAX; q++)
        f->offload[q] = (struct offload){.pool = pool,
                                         .mtu_bytes = (uint32_t)mtu,
                                         .ring_bytes = packet_socket ? ring - RING_HEADER : 0};
    if (!packet_socket)
        return 0;
    snprintf(name, sizeof name, "emu_ring%u", n);
    f->pool = rte_pktmbuf_pool_create(
        name, FRAMES_AT_ONCE * p->queues, 0, 0,
        (uint16_t)RTE_MIN(RTE_PKTMBUF_HEADROOM + ring, (uint32_t)UINT16_MAX),
        rte_eth_dev_socket_id(p->id));
    if (f->pool != NULL)
        return 0;
    snprintf(err, err_len,
             "port %s: no memory for %u packet buffers of %u bytes (%s); give more with -m MB "
             "before --, or a smaller framesz to its --vdev",
             p->name, FRAMES_AT_ONCE * p->queues, ring, rte_strerror(rte_errno));
    return -ENOMEM;
}

void interface_unmake(struct interface *f)
{
    for (uint16_t q = 0; q < CABLE_QUEUES_MAX; q++)
        rte_pktmbuf_free(f->offload[q].m);
    rte_mempool_free(f->pool);
}

struct offload *interface_offload(struct interface *f, uint16_t q)
{
    return f->is ? &f->offload[q] : NULL;
}

void interface_counts(const struct interface *f, struct offload_counts *sum)
{
    *sum = (struct offload_counts){0};
    for (uint16_t q = 0; q < CABLE_QUEUES_MAX; q++) {
        const struct offload_counts *c = &f->offload[q].counts;

        sum->summed += counter_get(&c->summed);
        sum->cut += counter_get(&c->cut);
        sum->segments += counter_get(&c->segments);
        sum->drop_large += counter_get(&c->drop_large);
        sum->drop_truncated += counter_get(&c->drop_truncated);
        sum->drop_no_mbuf += counter_get(&c->drop_no_mbuf);
    }
}

void interface_say(struct interface *f, const struct port *p)
{
    struct offload_counts c;
    const char *where = "at the source of the frames (the other end of a veth; the interface "
                        "itself if it is a NIC's)";
    char iface[IFNAMSIZ];

    interface_counts(f, &c);
    port_arg_text(p, "iface=", iface, sizeof iface);
    if (!f->said_truncated && c.drop_truncated > 0) {
        say_port(
            SAY_WARNING, p->name,
            "interface %s delivers frames larger than its ring's framesz, which are "
            "dropped; remove framesz, blocksz and framecnt from its --vdev, or, %s: ethtool -K IF "
            "tso off gso off gro off",
            iface, where);
        f->said_truncated = true;
    }
    if (!f->said_large && c.drop_large > 0) {
        say_port(
            SAY_WARNING, p->name,
            "interface %s delivers frames beyond --mtu %u that are not TCP, which are "
            "dropped; raise --mtu, or, %s: ethtool -K IF gso off gro off tx-udp-segmentation off",
            iface, f->offload[0].mtu_bytes, where);
        f->said_large = true;
    }
}
