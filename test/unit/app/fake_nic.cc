// SPDX-License-Identifier: BSD-3-Clause
#include "fake_nic.hh"

#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>

namespace
{

constexpr uint16_t kDefaultThresh = 32, kFreeThresh = 32; // IXGBE_DEFAULT_TX_RSBIT_THRESH, _FREE_
constexpr size_t kDescriptors = 1024;

FakeNic *nics[RTE_MAX_ETHPORTS];

uint16_t burst(void *queue, rte_mbuf **m, uint16_t n)
{
    return static_cast<FakeNic *>(queue)->transmit(m, n);
}

} // namespace

rte_device *ring_device(int port)
{
    rte_eth_dev_info info = {};

    return port >= 0 && rte_eth_dev_info_get(static_cast<uint16_t>(port), &info) == 0 ? info.device
                                                                                      : nullptr;
}

FakeNic::FakeNic(const char *given, rte_ring *rx, rte_ring *tx, rte_mempool *pool)
    : to(tx), wire(pool)
{
    int id = rte_eth_from_rings(given, &rx, 1, &tx, 1, 0);

    device = ring_device(id);
    if (device == nullptr)
        throw std::runtime_error("no ring port");
    port = static_cast<uint16_t>(id);
    name = std::string("net_ring_") + given;
    nics[port] = this;
}

FakeNic::~FakeNic()
{
    stop();
    nics[port] = nullptr;
    rte_dev_remove(device);
}

FakeNic *FakeNic::of(uint16_t port)
{
    return nics[port];
}

uint16_t FakeNic::transmit(rte_mbuf **m, uint16_t n)
{
    uint16_t done = 0;

    if (kDescriptors - ring.size() < kFreeThresh)
        clean();
    for (; done < n; done++) {
        if (ring.size() + m[done]->nb_segs >= kDescriptors && !clean())
            break;
        rte_mbuf *copy = rte_pktmbuf_copy(m[done], wire, 0, UINT32_MAX);

        if (copy == nullptr || rte_ring_enqueue(to, copy) != 0)
            rte_pktmbuf_free(copy); // lost on the wire
        unreported = static_cast<uint16_t>(unreported + m[done]->nb_segs);
        for (rte_mbuf *s = m[done]; s != nullptr; s = s->next)
            ring.push_back({s, 0, false});
        for (size_t k = 0; k < m[done]->nb_segs; k++)
            ring[ring.size() - 1 - k].last = k;
        if (unreported >= thresh) {
            ring.back().report = true;
            unreported = 0;
        }
        sent++;
    }
    return done;
}

bool FakeNic::clean()
{
    if (ring.size() < thresh)
        return false;
    size_t last = thresh - 1u + ring[thresh - 1u].last;

    if (last >= ring.size() || !ring[last].report)
        return false;
    for (size_t i = 0; i <= last; i++) {
        rte_pktmbuf_free_seg(ring.front().m);
        ring.pop_front();
    }
    return true;
}

int FakeNic::cleanup()
{
    int n = 0;

    cleanups++;
    while (clean())
        n++;
    return n;
}

void FakeNic::stop()
{
    for (Descriptor &d : ring)
        rte_pktmbuf_free_seg(d.m);
    ring.clear();
    unreported = 0;
}

// ---- functions that the linker (--wrap) gives to the daemon's objects instead of ethdev's

extern "C" {

int __real_rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info *info);
int __real_rte_eth_dev_start(uint16_t port);
int __wrap_rte_eth_dev_start(uint16_t port);
int __real_rte_eth_dev_stop(uint16_t port);
int __wrap_rte_eth_dev_stop(uint16_t port);
int __real_rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors,
                                  unsigned int socket, const rte_eth_txconf *conf);
int __wrap_rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors,
                                  unsigned int socket, const rte_eth_txconf *conf);
int __wrap_rte_eth_tx_done_cleanup(uint16_t port, uint16_t queue, uint32_t n);
int __real_rte_eth_link_get_nowait(uint16_t port, rte_eth_link *link);
int __wrap_rte_eth_link_get_nowait(uint16_t port, rte_eth_link *link);
bool memory_dma_works(rte_device *device);

int __wrap_rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info *info)
{
    int rc = __real_rte_eth_dev_info_get(port, info);

    if (rc == 0 && FakeNic::of(port) != nullptr) {
        info->driver_name = "net_fake";
        info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        info->default_txconf.tx_rs_thresh = kDefaultThresh;
        info->default_txconf.tx_free_thresh = kFreeThresh;
    }
    return rc;
}

int __wrap_rte_eth_dev_start(uint16_t port)
{
    int rc = __real_rte_eth_dev_start(port);

    if (rc == 0 && FakeNic::of(port) != nullptr) {
        rte_eth_fp_ops[port].tx_pkt_burst = burst;
        rte_eth_fp_ops[port].txq.data[0] = FakeNic::of(port);
    }
    return rc;
}

int __wrap_rte_eth_dev_stop(uint16_t port)
{
    if (FakeNic::of(port) != nullptr)
        FakeNic::of(port)->stop();
    return __real_rte_eth_dev_stop(port);
}

int __wrap_rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors,
                                  unsigned int socket, const rte_eth_txconf *conf)
{
    FakeNic *nic = FakeNic::of(port);
    rte_eth_txconf plain = {};

    if (nic == nullptr)
        return __real_rte_eth_tx_queue_setup(port, queue, descriptors, socket, conf);
    if (nic->refuses_thresh && conf->tx_rs_thresh != kDefaultThresh)
        return -EINVAL;
    nic->thresh = nic->honours_thresh ? conf->tx_rs_thresh : kDefaultThresh;
    plain.offloads = conf->offloads;
    return __real_rte_eth_tx_queue_setup(port, queue, descriptors, socket, &plain);
}

int __wrap_rte_eth_tx_done_cleanup(uint16_t port, uint16_t, uint32_t)
{
    FakeNic *nic = FakeNic::of(port);

    return nic != nullptr && nic->has_cleanup ? nic->cleanup() : -ENOTSUP;
}

int __wrap_rte_eth_link_get_nowait(uint16_t port, rte_eth_link *link)
{
    int rc = __real_rte_eth_link_get_nowait(port, link);

    if (rc == 0 && FakeNic::of(port) != nullptr && !FakeNic::of(port)->link)
        link->link_status = RTE_ETH_LINK_DOWN;
    return rc;
}

// The fake NIC has no IOMMU: memory of this process is good enough for its DMA.
bool memory_dma_works(rte_device *)
{
    return true;
}
}
