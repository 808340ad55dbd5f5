// SPDX-License-Identifier: BSD-3-Clause
// A NIC without hardware: a port on rings that uses these functions as its driver's. So the
// daemon's own code sets up, starts and polls a port that behaves like a NIC that this machine does
// not have.
//
// A sent frame is copied onto the wire (the other ring) at once, as a NIC would read it by DMA. The
// mbufs of the frame are kept and freed as ixgbe of DPDK 22.11 does
// (drivers/net/ixgbe/ixgbe_rxtx.c; i40e and ice are the same):
// - ixgbe_xmit_pkts() asks for a report (RS) on the last descriptor of a packet once tx_rs_thresh
//   descriptors have been used since the last one; the device marks those (DD).
// - ixgbe_xmit_cleanup() goes to the descriptor tx_rs_thresh further on, and from there to the last
//   one of its packet. If that has no DD, nothing is freed.
// - ixgbe_tx_done_cleanup_full() ends where fewer than tx_rs_thresh descriptors are used.
#ifndef SLUICE_TEST_UNIT_APP_FAKE_NIC_HH
#define SLUICE_TEST_UNIT_APP_FAKE_NIC_HH

#include <cstdint>
#include <deque>
#include <string>

#include <rte_ethdev.h>
#include <rte_ring.h>

struct FakeNic {
    // The driver's behaviour, to be set before port_open().
    bool honours_thresh = true;  // uses tx_conf's tx_rs_thresh; false: always 32
    bool refuses_thresh = false; // -EINVAL to any but 32
    bool link = true;
    bool has_cleanup = true;

    // Makes the port net_ring_NAME, which receives from rx and sends to tx.
    FakeNic(const char *name, rte_ring *rx, rte_ring *tx, rte_mempool *wire);
    ~FakeNic();
    FakeNic(const FakeNic &) = delete;

    static FakeNic *of(uint16_t port);

    uint16_t transmit(rte_mbuf **m, uint16_t n);
    int cleanup();
    void stop(); // frees the mbufs in the ring

    std::string name; // of the port
    uint16_t port = 0;
    uint16_t thresh = 32;
    uint64_t cleanups = 0, sent = 0;

    struct Descriptor {
        rte_mbuf *m; // one segment
        size_t last; // distance to the packet's last descriptor
        bool report; // RS; also DD, since the device is fast
    };
    std::deque<Descriptor> ring;
    uint16_t unreported = 0;

  private:
    bool clean();

    rte_device *device;
    rte_ring *to;
    rte_mempool *wire;
};

// The device of a port on rings, to be removed with rte_dev_remove(); nullptr: not on rings.
rte_device *ring_device(int port);

#endif
