// SPDX-License-Identifier: BSD-3-Clause
// The XTP paper's set-up ([XTP-RATE], figures 4-7): the product's hosts on 10 Mbit/s
// Ethernet, one of them a slow workstation that all others send to, going back n after a loss.
#ifndef SLUICE_TEST_UNIT_SIM_ETHERNET_HH
#define SLUICE_TEST_UNIT_SIM_ETHERNET_HH

#include <cstdint>
#include <vector>

extern "C" {
#include "host/host.h"
#include "sim/workstation.h"
#include "sim/world.h"
}

constexpr uint32_t kUser = 1454; // user bytes of the paper's packets; ours stand for them, and
constexpr uint32_t kUnit = 1472; // have so many: units are multiples of 64

struct EthernetOptions {
    const workstation *machine = &workstation_sparc1;
    uint32_t senders = 1;
    uint64_t rate_Bps = 500000, burst_bytes = kUser; // in the paper's bytes: what is granted
    bool given = true;    // as its configuration says; else it must find out
    bool control = false; // else nothing changes while it runs
    bool stops = true;    // senders stop for 10 ms at each answer, as the paper's did
    bool go_back_n = true;
};

class Ethernet
{
  public:
    explicit Ethernet(const EthernetOptions &options);
    ~Ethernet();
    Ethernet(const Ethernet &) = delete;
    void run(double seconds);
    void pause(uint32_t sender, bool on);              // no more requests of it
    struct host_conn_info info(uint32_t sender) const; // of its connection, at the receiver
    double packets(uint32_t sender) const              // received
    {
        return static_cast<double>(info(sender).rx_bytes) / kUnit;
    }
    uint64_t drops() const; // by the workstation
    struct host_capacity capacity() const;

  private:
    void add(uint32_t i);
    void more(uint32_t host, uint32_t conn);
    static void app(void *ctx, uint32_t i, host *h, uint64_t now);

    EthernetOptions opt;
    world *w;
    std::vector<uint32_t> theirs, ours; // connections: the senders', the receiver's
    std::vector<bool> paused;
    std::vector<uint32_t> owed; // requests that a paused sender did not send
    std::vector<uint8_t> memory;
};

#endif
