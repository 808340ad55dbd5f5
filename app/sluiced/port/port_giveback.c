/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests whether a port gives a sent frame back when it is asked to, even if no other frame follows.
 * A request completes only when no frame refers to its memory, so payload may be attached only
 * where the last frame comes back. See port.h.
 *
 * A driver that has rte_eth_tx_done_cleanup() does not always give frames back: ixgbe, i40e, ice
 * and iavf check only every tx_rs_thresh-th descriptor (32 by default) for completion, and stop
 * where fewer are left (ixgbe_rxtx.c, ixgbe_tx_done_cleanup_full()). port.c sets tx_rs_thresh to 1;
 * here one frame shows whether that helped.
 */
#include "sluiced/port/port.h"

#include <string.h>
#include <time.h>

#include <rte_mbuf.h>

#include "common/say.h"
#include "drivers/device.h"

#define LINK_WAIT_MS 9000 /* time that DPDK's drivers and examples give a link to come up */
#define LINK_SAY_MS  1000
#define BACK_WAIT_MS 100    /* the smallest frame takes 51 us at 10 Mbit/s */
#define LOOP_TYPE    0x9000 /* "loopback", of the Ethernet configuration test protocol */

static void wait_ms(void)
{
    const struct timespec pause = {0, 1000000};

    nanosleep(&pause, NULL);
}

static bool link_wait(const struct port *p)
{
    for (int ms = 0; ms < LINK_WAIT_MS; ms++) {
        if (port_link_up(p))
            return true;
        if (ms == LINK_SAY_MS)
            say_port(SAY_NOTICE, p->cfg->name, "waits for its link, at most %d s",
                     LINK_WAIT_MS / 1000);
        wait_ms();
    }
    return false;
}

/* The smallest frame, from the port to itself; switches do not forward it. */
static struct rte_mbuf *frame_make(const struct port *p)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(p->pools[0].head);
    struct rte_ether_hdr *ether;

    if (m == NULL)
        return NULL;
    ether = (struct rte_ether_hdr *)rte_pktmbuf_append(m, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN);
    memset(ether, 0, RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN);
    ether->dst_addr = ether->src_addr = p->mac;
    ether->ether_type = rte_cpu_to_be_16(LOOP_TYPE);
    return m;
}

bool port_gives_back(const struct port *p)
{
    struct rte_mbuf *m = link_wait(p) ? frame_make(p) : NULL;
    bool sent = false, back = false;

    if (m == NULL) {
        say_port(SAY_WARNING, p->cfg->name,
                 "its link is down, so it is unknown whether %s returns sent frames; payload "
                 "is copied until a restart with the link up",
                 p->driver);
        return false;
    }
    rte_mbuf_refcnt_update(m, 1); /* our reference, which shows when the driver drops its own */
    for (int ms = 0; ms < BACK_WAIT_MS && !back; ms++) {
        if (!sent)
            sent = device_tx(p->id, 0, &m, 1) == 1;
        rte_eth_tx_done_cleanup(p->id, 0, 0);
        back = sent && rte_mbuf_refcnt_read(m) == 1;
        if (!back)
            wait_ms();
    }
    if (!sent)
        rte_pktmbuf_free(m);
    rte_pktmbuf_free(m);
    if (!back)
        say_port(SAY_WARNING, p->cfg->name,
                 "%s keeps the last frames that it has sent, so payload is copied", p->driver);
    return back;
}
