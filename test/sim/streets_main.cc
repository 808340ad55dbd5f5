// SPDX-License-Identifier: BSD-3-Clause
// Paths that nobody described to the hosts: what one flow and two flows make of each.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <regex>

#include <rte_mbuf.h>

#include "eal.hh"
#include "street.hh"

extern "C" { int g_dbg; }
namespace
{

struct Point {
    const char *name;
    double rate_bps, rtt_ns, queue_bdp, loss;
    uint16_t mtu;
};

constexpr double kUs = 1e3, kMs = 1e6;

const Point kPoints[] = {
    {"10M-10us-q1", 10e6, 10 * kUs, 1, 0, 1500},
    {"10M-1ms-q1", 10e6, 1 * kMs, 1, 0, 1500},
    {"10M-30ms-q1", 10e6, 30 * kMs, 1, 0, 1500},
    {"10M-300ms-q1", 10e6, 300 * kMs, 1, 0, 1500},
    {"100M-100us-q1", 100e6, 100 * kUs, 1, 0, 1500},
    {"100M-10ms-q1", 100e6, 10 * kMs, 1, 0, 1500},
    {"100M-10ms-q0.1", 100e6, 10 * kMs, 0.1, 0, 1500},
    {"100M-10ms-q4", 100e6, 10 * kMs, 4, 0, 1500},
    {"100M-10ms-q1-p5", 100e6, 10 * kMs, 1, 0.05, 1500},
    {"100M-10ms-q0.1-p1", 100e6, 10 * kMs, 0.1, 0.01, 1500},
    {"1G-10us-q1", 1e9, 10 * kUs, 1, 0, 1500},
    {"1G-1ms-q1", 1e9, 1 * kMs, 1, 0, 1500},
    {"1G-1ms-q0.1-p5", 1e9, 1 * kMs, 0.1, 0.05, 1500},
    {"1G-30ms-q1", 1e9, 30 * kMs, 1, 0, 1500},
    {"10G-10us-q4", 10e9, 10 * kUs, 4, 0, 1500},
    {"10G-100us-q1", 10e9, 100 * kUs, 1, 0, 1500},
    {"10G-1ms-q0.1", 10e9, 1 * kMs, 0.1, 0, 1500},
    {"40G-10us-q1", 40e9, 10 * kUs, 1, 0, 1500},
    {"40G-100us-q0.1", 40e9, 100 * kUs, 0.1, 0, 1500},
};

double cpu_seconds()
{
    return static_cast<double>(clock()) / CLOCKS_PER_SEC;
}

rte_mempool *pool(const char *name, unsigned n, uint16_t room)
{
    rte_mempool *p = rte_pktmbuf_pool_create(name, n, 0, 0, room, SOCKET_ID_ANY);

    if (p == nullptr) {
        std::fprintf(stderr, "streets: no memory for mbufs\n");
        std::exit(1);
    }
    return p;
}

bool g_trace;

void trace(Street &s, double ns, double turn)
{
    double t0 = (double)world_now(s.w);
    uint64_t b[2] = {s.info(0).rx_bytes, s.info(1).rx_bytes};

    if (!g_trace) {
        s.run(ns);
        return;
    }
    while ((double)world_now(s.w) < t0 + ns) {
        s.run(turn);
        std::printf("  t %10.3f ms q %8lu drop %6lu |", (double)world_now(s.w) / 1e6,
                    s.link()->queued_bytes, s.link()->dropped);
        for (int i = 0; i < 2; i++) {
            struct host_conn_info f = s.info((uint32_t)i);
            std::printf(" got %9.3f grant %9.3f %-7s rtt %.3f ms lost %lu dup %lu unp %lu rep %lu|",
                        (double)(f.rx_bytes - b[i]) * 8e3 / turn, (double)f.rx_rate_Bps * 8 / 1e6,
                        host_reason_name(f.rx_reason), (double)f.rtt_ns / 1e6, f.rx_lost, f.rx_duplicates, f.rx_unposted, f.naks_tx);
            b[i] = f.rx_bytes;
        }
        std::printf("\n");
    }
}

bool point_run(const Point &p, const StreetPools &pools)
{
    StreetOptions o;
    double frame = p.mtu + 14;
    double bdp = p.rate_bps / 8 * p.rtt_ns / 1e9;
    double packet_ns = frame * 8e9 / p.rate_bps;
    double turn = p.rtt_ns + std::max({0.25 * p.rtt_ns, 0.1 * kMs, 10 * packet_ns});
    double t0 = cpu_seconds();

    o.rate_bps = p.rate_bps;
    o.rtt_ns = p.rtt_ns;
    o.queue_bytes = std::max(p.queue_bdp * bdp, 4 * frame);
    o.loss = p.loss;
    o.mtu = p.mtu;
    o.senders = 2;
    Street s(o, pools);

    s.start(0);
    trace(s, std::max(80 * turn, 30 * kMs), turn);
    uint64_t drops = s.link()->dropped;
    uint64_t units = s.info(0).rx_units, bytes = s.info(0).rx_bytes;
    double q = s.queue_bytes(80 * turn);
    double unit = (double)(s.info(0).rx_bytes - bytes) / (double)(s.info(0).rx_units - units);
    double wire = (double)(s.info(0).rx_units - units) * (unit + 98);
    double used = wire * 8e9 / (80 * turn) / p.rate_bps;
    double used_bar = 1 - p.loss - 0.02, q_bar = std::max(0.2 * bdp, 2 * frame);

    drops = s.link()->dropped - drops;
    s.start(1);
    trace(s, std::max(600 * turn, 30 * kMs), turn);
    uint64_t a = s.info(0).rx_bytes, b = s.info(1).rx_bytes;
    double time2 = 100 * turn < 1000 * kMs ? std::min(500 * turn, 1000 * kMs) : 100 * turn;
    double q2 = s.queue_bytes(time2);
    double x = (double)(s.info(0).rx_bytes - a), y = (double)(s.info(1).rx_bytes - b);
    double jain = (x + y) * (x + y) / 2 / (x * x + y * y);
    double both = (x + y) / unit * (unit + 98) * 8e9 / time2 / p.rate_bps;
    bool ok = used >= used_bar && q <= q_bar && jain >= 0.95;

    std::printf("%-20s used %6.2f%% (%5.1f) queue %8.2f pkt (%8.2f) drops %5lu | two: %6.2f%% queue "
                "%8.2f jain %.3f  %s  %.1f s\n",
                p.name, 100 * used, 100 * used_bar, q / frame, q_bar / frame, drops, 100 * both,
                q2 / frame, jain, ok ? "ok" : "NO", cpu_seconds() - t0);
    std::fflush(stdout);
    return ok;
}

} // namespace

int main(int argc, char **argv)
{
    std::regex only(argc > 1 ? argv[1] : "");
    bool ok = true;

    g_trace = argc > 2; g_dbg = argc > 3;
    if (!eal_start(argv[0], "2048"))
        return 1;
    StreetPools pools = {pool("head", 8191, RTE_PKTMBUF_HEADROOM + 1024), pool("attach", 16383, 0),
                         pool("copy", 1023, RTE_PKTMBUF_HEADROOM + 9600),
                         pool("wire", 65535, RTE_PKTMBUF_HEADROOM + 9600)};
    for (const Point &p : kPoints)
        if (std::regex_search(p.name, only))
            ok = point_run(p, pools) && ok;
    return ok ? 0 : 1;
}
