// SPDX-License-Identifier: BSD-3-Clause
// The measurements of the ATM paper ([ATM]): the drops of a policer (figure 5, table 1), round
// trips of cells (figures 6 and 7), and TCP over both networks (figure 4).
#include <cmath>
#include <stdexcept>

#include "bulk.hh"
#include "findings.hh"
#include "route.hh"

extern "C" {
#include "base/clock.h"
#include "sim/cells.h"
}

namespace
{

constexpr uint32_t kBurst = 32;

struct Policed {
    cells_count count = {};
    uint64_t sent = 0;

    double variation() const // of the gaps: deviation over mean
    {
        double n = static_cast<double>(count.gaps), mean = static_cast<double>(count.gap_sum) / n;

        return std::sqrt(static_cast<double>(count.gap_squares) / n - mean * mean) / mean;
    }
};

// Sends so many cells at this rate through a policer.
Policed police(const char *spec, uint64_t rate_bps, uint64_t cells)
{
    path_config path = {kHz, 1, 4096, test_pool, 0, 0};
    cells_config source = {kHz, 1000, rate_bps / 8, cells, test_pool};
    struct cells c;
    char err[300];
    rte_mbuf *m[kBurst];
    Policed out;
    struct path *p = path_create(spec, &path, 0, err, sizeof err);

    if (p == nullptr)
        throw std::runtime_error(err);
    cells_init(&c, &source);
    for (uint64_t now; (now = cells_next(&c)) != TIME_NEVER;) {
        uint16_t n = cells_tx(&c, m, kBurst, now);

        path_push(p, m, n, now);
        while ((n = path_pop(p, m, kBurst, now)) > 0)
            cells_rx(&out.count, m, n);
    }
    cells_end(&out.count, c.sent);
    out.sent = c.sent;
    path_destroy(p);
    return out;
}

// Frames of 9188 bytes of IP are cut into cells. Their line is faster than the PCR by the share
// `excess`. Returns the share of frames that arrive whole.
double frames_whole(double excess, double *cells_lost)
{
    uint64_t line_bps = static_cast<uint64_t>(135e6 * (1 + excess));
    std::string spec =
        text("police pcr 135mbit cdvt 50us cells line %llubit", (unsigned long long)line_bps);
    path_config path = {kHz, 1, 64, test_pool, 0, 0};
    char err[300];
    struct path *p = path_create(spec.c_str(), &path, 0, err, sizeof err);
    constexpr uint64_t kFrames = 2000, kCells = 192, kSettled = 100; // frames

    if (p == nullptr)
        throw std::runtime_error(err);
    uint64_t came = 0;

    for (uint64_t i = 1; i <= kFrames; i++) {
        rte_mbuf *m = rte_pktmbuf_alloc(test_pool);
        uint64_t now = i * kCells * CELLS_BYTES * 8 * kHz / line_bps;

        rte_pktmbuf_append(m, 9188 + 14);
        path_push(p, &m, 1, now);
        if (path_pop(p, &m, 1, now) == 1) {
            rte_pktmbuf_free(m);
            came += i > kSettled; // the tolerance is used up by then
        }
    }
    path_element_info info;

    path_element(p, 0, &info);
    *cells_lost =
        static_cast<double>(info.counts->cells_excess) / static_cast<double>(info.counts->cells);
    path_destroy(p);
    return static_cast<double>(came) / (kFrames - kSettled);
}

// The mean round trip of cells on such a path, in us, including the overhead of the hosts.
double round_trip(const std::string &spec)
{
    // The paper's timer board counted 125 ns. A cell goes every 100 us.
    constexpr uint64_t kBoardHz = 8000000;
    struct Seen {
        uint64_t cycles, n;
        static void back(void *ctx, uint32_t, uint16_t, uint64_t cycles, uint64_t)
        {
            static_cast<Seen *>(ctx)->cycles += cycles;
            static_cast<Seen *>(ctx)->n++;
        }
    } seen = {0, 0};
    line_config cfg = {{spec.c_str(), spec.c_str()}, kBoardHz, 1, 4000, test_pool};
    char err[300];
    struct line *l = line_create(&cfg, err, sizeof err);

    if (l == nullptr)
        throw std::runtime_error(err);
    probe_config pc = {};
    mirror_config mc = {};
    struct probe probe;
    static struct mirror mirror;

    pc.route = route(0, 1, 2);
    pc.hz = kBoardHz;
    pc.start = 1000;
    pc.interval_ns = 100000;
    pc.ip_len[0] = pc.ip_len[1] = 40; // with Ethernet's header, one byte longer than a cell
    pc.frames = 10000;
    pc.pool = test_pool;
    pc.hook = {Seen::back, &seen};
    probe_init(&probe, &pc);
    mc.of = &probe;
    mc.route = route(1, 2, 1);
    mc.turn_ns = 57000; // registers, interrupts, drivers of both hosts
    mc.reflect = true;
    mc.pool = test_pool;
    mirror_init(&mirror, &mc);
    line_add(l, 0, probe_node(&probe));
    line_add(l, 1, mirror_node(&mirror));
    line_run(l, 3 * kBoardHz);
    EXPECT_EQ(seen.n, pc.frames);
    line_destroy(l);
    return static_cast<double>(seen.cycles) / static_cast<double>(seen.n) * 1e6 / kBoardHz;
}

const std::string kTaxi = "rate 100mbit"; // the cards of the hosts

// The rate of TCP with such a socket buffer, in Mbit/s. Hosts move 50 Mbit/s, cell by cell while
// the rest of the frame still arrives. They take 250 us for each packet.
double tcp(uint32_t window_bytes, const char *way)
{
    BulkOptions o;

    o.there = std::string("rate 50mbit 0 48 5 delay 250us ") + way;
    o.back = std::string("rate 100mbit 0 48 5 delay 250us ") + way;
    o.window_bytes = window_bytes;
    o.mss_bytes = 9188 - 40;
    o.start_ns = 1000;
    o.probe_len[0] = 0;
    Bulk b(o);

    b.run(12);
    return b.rate_bps(2, 12) / 1e6;
}

constexpr const char *kLan = "delay 6500ns", *kWan = "delay 1940us";

} // namespace

TEST(AtmPolicing, GapsAreNearlyConstant)
{
    Findings &f = Findings::get();

    for (double excess : {0.002, 0.01, 0.05}) {
        Policed p = police("police pcr 135mbit cdvt 50us",
                           static_cast<uint64_t>(135e6 * (1 + excess)), 25000);
        double mean = static_cast<double>(p.count.gap_sum) / static_cast<double>(p.count.gaps);

        f.add(text("atm-policing: %.1f %% above PCR: gap between lost cells", 100 * excess),
              "(1 + x) / x", mean, "cells", 0.99 * (1 + excess) / excess,
              1.01 * (1 + excess) / excess);
        f.add(text("atm-policing: %.1f %% above PCR: variation of the gap", 100 * excess),
              "nearly constant", p.variation(), "", 0, 0.05);
        f.add(text("atm-policing: %.1f %% above PCR: largest less least gap", 100 * excess),
              "nearly constant", static_cast<double>(p.count.gap_max - p.count.gap_min), "cells", 0,
              2);
    }
}

// Ten seconds of the half hour of table 1. The lab runs all of it.
TEST(AtmPolicing, TableOne)
{
    Findings &f = Findings::get();
    uint64_t cells = 134051590ull * 10 / 424;
    Policed p = police("police pcr 135mbit", 134051590, cells);

    f.add("atm-policing: 134.05159 Mb/s below 135: cells received in 30 min, from 10 s",
          "569.087e6", static_cast<double>(p.count.received) * 180, "cells", 569.086e6, 569.088e6);
    f.add("atm-policing: of them lost", "0", static_cast<double>(p.count.lost), "", 0, 0);
}

TEST(AtmPolicing, GoodputFallsToNothing)
{
    Findings &f = Findings::get();
    double lost, last = 2;

    // Frames have 192 cells: one in 192 is lost at 0.52 % above the PCR.
    for (double excess : {0.0, 0.001, 0.002, 0.004}) {
        double whole = frames_whole(excess, &lost), model = 1 - 192 * excess / (1 + excess);

        f.add(
            text("atm-policing: %.1f %% above PCR: frames of 9188 B that come whole", 100 * excess),
            text("%.2f", model), whole, "", model - 0.02, model + 0.02);
        EXPECT_LT(whole, last);
        last = whole;
    }
    for (double excess : {0.0055, 0.01, 0.1}) {
        double whole = frames_whole(excess, &lost);

        f.add(
            text("atm-policing: %.2f %% above PCR: frames of 9188 B that come whole", 100 * excess),
            "0", whole, "", 0, 0);
        f.add(text("atm-policing: %.2f %% above PCR: cells that come all the same", 100 * excess),
              "nearly all", 1 - lost, "", 0.9, 1);
    }
}

TEST(AtmRtt, CellsWithTheReferenceSubtracted)
{
    Findings &f = Findings::get();
    double reference = round_trip(kTaxi);

    f.add("atm-rtt: back to back: the hosts' own time", "constant", reference, "us", 57, 70);
    f.add("atm-rtt: LAN, mean less the reference", "13 us",
          round_trip(kTaxi + " " + kLan) - reference, "us", 12, 14);
    f.add("atm-rtt: WAN, mean less the reference", "3880 us",
          round_trip(kTaxi + " " + kWan) - reference, "us", 3879, 3881);
}

// A small window limits the rate to window over round trip. So the WAN is slower by a factor that
// depends on the window, and on the hosts' time for a window. The paper's text does not say which
// buffers figure 4 shows. SunOS 4 gave a socket 4 kB by default.
TEST(AtmRtt, WindowLimitedTcp)
{
    Findings &f = Findings::get();
    auto ratio = [](uint32_t kB) { return tcp(kB * 1024, kLan) / tcp(kB * 1024, kWan); };

    f.add("atm-rtt: TCP, buffer of 4 kB: LAN over WAN", "4-5", ratio(4), "", 4, 5);
    f.differs("atm-rtt: TCP, buffer of 8 kB: LAN over WAN", "4-5", ratio(8), "", 4, 5,
              "(t + 3880 us) / t, where t, the hosts' time for a window, grows with it");
    f.differs("atm-rtt: TCP, buffer of 52 kB: LAN over WAN", "4-5", ratio(52), "", 4, 5,
              "50 Mb/s times 4 ms are 25 kB: with twice that nothing waits for the WAN");
    f.add("atm-rtt: TCP, buffer of 4 kB: WAN over window / round trip", "about 1",
          tcp(4096, kWan) / (4096 * 8 / (3880.0 + 500 + 655 + 60)), "", 0.9, 1.1);
}
