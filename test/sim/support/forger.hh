// SPDX-License-Identifier: BSD-3-Clause
// Makes frames that a host must drop: random bytes, broken layers, packets of connections that do
// not exist, packets of a live connection from a wrong address, and copies of real frames, some
// with a flipped bit. For each of them, exactly one drop counter must rise.
#ifndef SLUICE_TEST_SIM_FORGER_HH
#define SLUICE_TEST_SIM_FORGER_HH

#include <vector>

extern "C" {
#include "base/rng.h"
#include "wire/frame.h"
#include "wire/packet.h"
}

class Forger
{
  public:
    explicit Forger(uint64_t seed)
    {
        rng_init(&rng, seed);
    }

    // The host that forged frames are sent to.
    struct Target {
        rte_ether_addr mac;
        addr address, peer;
        uint64_t key;                            // of a live connection
        std::vector<std::vector<uint8_t>> heard; // real frames that were sent to it
    };
    std::vector<uint8_t> frame(const Target &t);

  private:
    uint64_t below(uint64_t n)
    {
        return rng_below(&rng, n);
    }
    void fill(uint8_t *p, size_t len);
    std::vector<uint8_t> random_frame(const Target &t);
    std::vector<uint8_t> broken_layers(const Target &t);
    std::vector<uint8_t> packet(const Target &t, const frame_route &route,
                                const std::vector<uint8_t> &payload);
    std::vector<uint8_t> random_packet(uint64_t key);
    std::vector<uint8_t> broken_packet();
    frame_route route_from(const Target &t, const addr &source, uint16_t port);

    struct rng rng;
};

#endif
