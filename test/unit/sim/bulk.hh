// SPDX-License-Identifier: BSD-3-Clause
// A TCP of 1993 that sends endless data from end 0 of a line to end 1, with probes beside it. It
// gives the figures that the papers [FRAME-RELAY] and [ATM] measured.
#ifndef SLUICE_TEST_UNIT_SIM_BULK_HH
#define SLUICE_TEST_UNIT_SIM_BULK_HH

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "path/path.h"
#include "model/line.h"
#include "sim/probe.h"
#include "sim/tahoe.h"
#include "sim/tahoe_receiver.h"
}

constexpr uint64_t kHz = 1000000000;
constexpr double kMs = 1e6, kS = 1e9;

struct BulkOptions {
    std::string there, back;
    uint32_t window_bytes = 1460;
    uint16_t mss_bytes = 1460;
    bool open_at_once = true, fast_retransmit = true;
    uint64_t start_ns = 3000000000; // of the TCP; until then, probes measure the unloaded line
    uint64_t tick_ns = 0, read_tick_ns = 0;
    uint16_t probe_len[2] = {46, 68}; // IP length, bytes; 0: no probes
};

class Bulk
{
  public:
    struct Probe {
        double at_s, increment_ms;
        uint32_t kind; // 0: the first length, 1: the second
    };
    struct Read {
        double at_s;
        uint32_t bytes;
    };

    explicit Bulk(const BulkOptions &options);
    ~Bulk();
    Bulk(const Bulk &) = delete; // the line's nodes are its members
    void run(double until_s);

    double rate_bps(double from_s, double to_s) const; // of user data that was read
    // Quantile over the probes of a kind (2: both) that came in that time; share 0.5: the median.
    // -1: none came.
    double increment_ms(uint32_t kind, double from_s, double to_s, double share) const;
    uint32_t probes_lost(uint32_t kind) const; // without those that may be under way
    uint64_t dropped(uint32_t element) const;  // by this element of the path to end 1
    // The momentary rate at each read, over five reads: the one before, this one and three more.
    std::vector<double> momentary_bps() const;

    BulkOptions opt;
    struct tahoe tcp;
    struct tahoe_receiver reader;
    struct probe probe;
    struct mirror mirror;
    struct line *line;
    std::vector<Probe> probes;
    std::vector<Read> reads;

  private:
    double unloaded_[2] = {1e18, 1e18};
    static void seen(void *ctx, uint32_t number, uint16_t ip_len, uint64_t cycles, uint64_t now);
    static void read(void *ctx, uint32_t len_bytes, uint64_t now);
};

#endif
