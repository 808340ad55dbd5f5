// SPDX-License-Identifier: BSD-3-Clause
// The set-up of the XTP paper ([XTP-RATE], figures 4-7): our hosts on an Ethernet of 10 Mbit/s. One
// of them is a slow workstation. The others send to it, and go back n after a loss.
#ifndef SLUICE_TEST_UNIT_SIM_ETHERNET_HH
#define SLUICE_TEST_UNIT_SIM_ETHERNET_HH

#include <cstdint>
#include <vector>

extern "C" {
#include "host/host.h"
#include "sim/workstation.h"
#include "sim/world.h"
}

constexpr uint32_t kUser = 1454; // user bytes of the paper's packets
constexpr uint32_t kUnit = 1472; // bytes of our units, which stand for them: a multiple of 64

struct EthernetOptions {
    const workstation *machine = &workstation_sparc1;
    uint32_t senders = 1;
    uint64_t rate_Bps = 500000, burst_bytes = kUser; // granted, in the paper's bytes
    bool given = true;    // the rate is configured; else the host must find it
    bool control = false; // a control core runs; else grants do not change
    bool stops = true;    // senders stop for 10 ms at each answer, as in the paper
    bool go_back_n = true;
};

class Ethernet
{
  public:
    explicit Ethernet(const EthernetOptions &options);
    ~Ethernet();
    Ethernet(const Ethernet &) = delete;
    void run(double seconds);
    void pause(uint32_t sender, bool on);              // while on, it starts no request
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
    std::vector<uint32_t> owed; // requests that a paused sender has yet to send
    std::vector<uint8_t> memory;
};

#endif
