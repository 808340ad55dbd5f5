// SPDX-License-Identifier: BSD-3-Clause
// How many buffers a received frame takes, how large they are, and which MTUs a port refuses.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <string>

extern "C" {
#include "sluiced/port/exception.h"
#include "sluiced/port/port.h"
}

namespace
{

struct Decision {
    int rc;
    port p;
    std::string err;
};

// What port_decide() says of a device of this driver.
Decision decide(const char *driver, config_port *cfg)
{
    Decision d = {0, {}, ""};
    rte_eth_dev_info info = {};
    char err[300] = "";

    std::snprintf(cfg->name, sizeof cfg->name, "p0");
    cfg->workers = 1;
    info.max_rx_queues = info.max_tx_queues = 1;
    std::snprintf(d.p.driver, sizeof d.p.driver, "%s", driver);
    d.p.cfg = cfg;
    d.rc = port_decide(&d.p, &info, err, sizeof err);
    d.err = err;
    return d;
}

Decision decide(const char *driver, uint32_t mtu)
{
    static config_port cfg;

    cfg = {};
    cfg.mtu_bytes = mtu;
    return decide(driver, &cfg);
}

uint32_t room(const port &p)
{
    return p.buffers * p.buffer_bytes;
}

} // namespace

// An mbuf has room for 65535 bytes, its headroom of 128 included; 22 go beside the IP packet.
TEST(Buffers, OneForEachFrameThatItHolds)
{
    for (const char *driver : {"net_memif", "net_vhost", "net_ring", "net_ixgbe"}) {
        for (uint32_t mtu : {576u, 1500u, 9000u, 40960u, 65384u, 65385u}) {
            Decision d = decide(driver, mtu);

            ASSERT_EQ(d.rc, 0) << driver << " " << mtu << ": " << d.err;
            EXPECT_EQ(d.p.buffers, 1u) << driver << " " << mtu;
            EXPECT_GE(room(d.p), mtu + 22) << driver << " " << mtu;
            EXPECT_LE(RTE_PKTMBUF_HEADROOM + d.p.buffer_bytes, UINT16_MAX) << driver << " " << mtu;
        }
    }
}

TEST(Buffers, TwoForLongerFrames)
{
    for (const char *driver : {"net_vhost", "net_ring"}) {
        for (uint32_t mtu : {65386u, 65535u}) {
            Decision d = decide(driver, mtu);

            ASSERT_EQ(d.rc, 0) << driver << " " << mtu << ": " << d.err;
            EXPECT_EQ(d.p.buffers, 2u) << driver << " " << mtu;
            EXPECT_GE(room(d.p), mtu + 22) << driver << " " << mtu;
            EXPECT_LT(room(d.p), 2u * 33000) << "two halves, not two of the largest";
        }
    }
}

// The message names the largest MTU.
TEST(Buffers, PortsOfOneBufferRefuseLongerFrames)
{
    for (const char *driver : {"net_memif", "net_af_packet", "net_ixgbe"}) {
        for (uint32_t mtu : {65386u, 65535u}) {
            Decision d = decide(driver, mtu);

            EXPECT_EQ(d.rc, -EINVAL) << driver << " " << mtu;
            EXPECT_NE(d.err.find("port p0: mtu = " + std::to_string(mtu)), std::string::npos)
                << d.err;
            EXPECT_NE(d.err.find("at most 65385"), std::string::npos) << d.err;
            EXPECT_NE(d.err.find("lower mtu"), std::string::npos) << d.err;
        }
    }
}

// A frame must fit one slot of a memif's ring. The message names the bsize that is needed.
TEST(Buffers, TheSlotsOfAMemifHoldAFrame)
{
    const struct {
        uint32_t mtu, bsize, wanted; // wanted 0: it fits
    } cases[] = {{2030, 2048, 0},   {2031, 2048, 3072},    {9000, 2048, 9216},
                 {9198, 9216, 0},   {9199, 9216, 10240},   {40960, 9216, 41984},
                 {65385, 65403, 0}, {65385, 65402, 65407}, {65000, 9216, 65407}};

    for (const auto &c : cases) {
        config_port cfg = {};
        rte_eth_dev_info info = {};
        port p = {};
        char err[300] = "";

        std::snprintf(cfg.name, sizeof cfg.name, "p0");
        cfg.mtu_bytes = c.mtu;
        p.cfg = &cfg;
        p.id = RTE_MAX_ETHPORTS - 1; // there is no such device: only what comes before it counts
        p.is_memif = true;
        p.traits.software = true;
        p.memif.bsize_bytes = c.bsize;
        port_mtu_set(&p, &info, err, sizeof err);

        std::string text = err, wanted = "bsize=" + std::to_string(c.wanted) + ",";

        EXPECT_EQ(text.find("does not fit bsize=") != std::string::npos, c.wanted != 0)
            << c.mtu << " " << c.bsize << ": " << text;
        if (c.wanted != 0) {
            EXPECT_NE(text.find(wanted), std::string::npos) << text;
        }
    }
}

// A memif in place of the kernel takes whole frames, and waits for the other program.
TEST(Buffers, TheMemifOfAnExceptionPortHoldsAFrameAndWaits)
{
    const struct {
        uint32_t mtu;
        const char *vdev, *says;
    } cases[] = {
        {9000, "net_memif7,role=server,id=0", "does not fit bsize=2048"},
        {9000, "net_memif7,role=server,bsize=9017", "both ends bsize=9216"},
        {1500, "net_memif7,id=0", "add role=server"},
        {1500, "net_memif7,role=client", "add role=server"},
    };

    for (const auto &c : cases) {
        config_port cfg = {};
        port p = {};
        struct exception x;
        char err[400] = "";

        std::snprintf(cfg.name, sizeof cfg.name, "p0");
        std::snprintf(cfg.exception, sizeof cfg.exception, "%s", c.vdev);
        cfg.mtu_bytes = c.mtu;
        p.cfg = &cfg;
        EXPECT_EQ(exception_open(&x, &p, err, sizeof err), -EINVAL) << c.vdev;
        EXPECT_NE(std::string(err).find(c.says), std::string::npos) << err;
        exception_close(&x);
        exception_free(&x);
    }
}

// The kernel cuts off what does not fit a frame of AF_PACKET's ring; test/system has the ping that
// just fits. The interface, which is not there, is looked at last.
TEST(Buffers, TheFramesOfAPacketSocketHoldAFrame)
{
    for (uint32_t mtu : {1968, 1969}) {
        config_port cfg = {};
        rte_eth_dev_info info = {};
        port p = {};
        char err[300] = "";

        std::snprintf(cfg.name, sizeof cfg.name, "p0");
        std::snprintf(p.driver, sizeof p.driver, "net_af_packet");
        cfg.mtu_bytes = mtu;
        p.cfg = &cfg;
        EXPECT_EQ(port_mtu_set(&p, &info, err, sizeof err), -EINVAL);
        EXPECT_EQ(std::string(err).find("does not fit framesz=2048") != std::string::npos,
                  mtu == 1969)
            << err;
    }
}
