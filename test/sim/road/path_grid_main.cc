// SPDX-License-Identifier: BSD-3-Clause
// Measures how one flow, and then two flows, use paths that are not described to the hosts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "eal.hh"
#include "pool.hh"
#include "dumbbell.hh"
#include "text.hh"

namespace
{

constexpr double kUs = 1e3, kMs = 1e6, M = 1e6, G = 1e9;
constexpr double kHeaders = 98;           // of a frame, from Ethernet's to DATA's
constexpr double kPacketsOfAPoint = 20e6; // a point that would need more has shorter looks

// A link, its round trip, the queue before it in bandwidth-delay products, and the share of the
// packets that gets lost behind it.
struct Point {
    double rate_bps, rtt_ns, queue, loss;
    uint16_t mtu;
};

const Point kPoints[] = {
    {10 * M, 10 * kUs, 1, 0, 1500},      {10 * M, 10 * kUs, 4, 0, 1500},
    {10 * M, 1 * kMs, 1, 0, 1500},       {10 * M, 1 * kMs, 1, 0.05, 1500},
    {10 * M, 10 * kMs, 0.1, 0, 1500},    {10 * M, 10 * kMs, 1, 0, 1500},
    {10 * M, 10 * kMs, 4, 0, 1500},      {10 * M, 10 * kMs, 1, 0.01, 1500},
    {10 * M, 100 * kMs, 0.1, 0, 1500},   {10 * M, 100 * kMs, 1, 0, 1500},
    {10 * M, 100 * kMs, 4, 0.05, 1500},  {10 * M, 300 * kMs, 1, 0, 1500},
    {10 * M, 300 * kMs, 1, 0.01, 1500},  {100 * M, 10 * kUs, 1, 0, 1500},
    {100 * M, 100 * kUs, 1, 0, 1500},    {100 * M, 1 * kMs, 0.1, 0, 1500},
    {100 * M, 1 * kMs, 1, 0, 1500},      {100 * M, 1 * kMs, 4, 0.05, 1500},
    {100 * M, 10 * kMs, 0.1, 0, 1500},   {100 * M, 10 * kMs, 1, 0, 1500},
    {100 * M, 10 * kMs, 4, 0, 1500},     {100 * M, 10 * kMs, 0.1, 0.01, 1500},
    {100 * M, 10 * kMs, 1, 0.05, 1500},  {100 * M, 100 * kMs, 0.1, 0, 1500},
    {100 * M, 100 * kMs, 1, 0, 1500},    {100 * M, 100 * kMs, 1, 0.01, 1500},
    {100 * M, 300 * kMs, 1, 0, 1500},    {1 * G, 10 * kUs, 1, 0, 1500},
    {1 * G, 10 * kUs, 4, 0.05, 1500},    {1 * G, 100 * kUs, 0.1, 0, 1500},
    {1 * G, 100 * kUs, 1, 0, 1500},      {1 * G, 1 * kMs, 0.1, 0.05, 1500},
    {1 * G, 1 * kMs, 1, 0, 1500},        {1 * G, 1 * kMs, 4, 0, 1500},
    {1 * G, 10 * kMs, 0.1, 0, 1500},     {1 * G, 10 * kMs, 1, 0, 1500},
    {1 * G, 10 * kMs, 1, 0.01, 1500},    {1 * G, 30 * kMs, 1, 0, 1500},
    {1 * G, 100 * kMs, 1, 0, 9000},      {10 * G, 10 * kUs, 1, 0, 1500},
    {10 * G, 10 * kUs, 4, 0, 1500},      {10 * G, 100 * kUs, 0.1, 0, 1500},
    {10 * G, 100 * kUs, 1, 0, 1500},     {10 * G, 100 * kUs, 1, 0.05, 1500},
    {10 * G, 1 * kMs, 0.1, 0, 1500},     {10 * G, 1 * kMs, 1, 0, 1500},
    {10 * G, 1 * kMs, 4, 0, 1500},       {10 * G, 10 * kMs, 1, 0, 9000},
    {10 * G, 10 * kMs, 0.1, 0.01, 9000}, {10 * G, 100 * kMs, 1, 0, 9000},
    {40 * G, 10 * kUs, 1, 0, 1500},      {40 * G, 10 * kUs, 1, 0.05, 1500},
    {40 * G, 100 * kUs, 0.1, 0, 1500},   {40 * G, 100 * kUs, 1, 0, 1500},
    {40 * G, 100 * kUs, 4, 0, 1500},     {40 * G, 1 * kMs, 0.1, 0, 1500},
    {40 * G, 1 * kMs, 1, 0, 9000},       {40 * G, 1 * kMs, 1, 0.01, 9000},
    {40 * G, 10 * kMs, 1, 0, 9000},      {40 * G, 300 * kMs, 0.1, 0, 9000},
};

std::string name(const Point &p)
{
    std::string s = p.rate_bps < G ? text("%gM", p.rate_bps / M) : text("%gG", p.rate_bps / G);

    s += p.rtt_ns < kMs ? text("-%gus", p.rtt_ns / kUs) : text("-%gms", p.rtt_ns / kMs);
    s += text("-q%g", p.queue);
    if (p.loss > 0)
        s += text("-p%g", p.loss * 100);
    return s + (p.mtu > 1500 ? "-jumbo" : "");
}

struct Measure {
    double used, queue_bytes, jain;
};

class Run
{
  public:
    // In turns. On every path, two flows are judged kTogether after the second one began. Their
    // index after kSoon is printed beside it, which shows where one of them takes long.
    static constexpr double kSoon = 80, kTogether = 500;

    Run(const Point &point, uint64_t first, bool tracing) : p(point), seed(first), trace(tracing)
    {
        frame = p.mtu + 14;
        packet_ns = frame * 8e9 / p.rate_bps;
        bdp = p.rate_bps / 8 * p.rtt_ns / 1e9;
        queue_bytes = std::max(p.queue * bdp, 4 * frame);
        turn = p.rtt_ns + std::max({0.25 * p.rtt_ns, 0.1 * kMs, 10 * packet_ns});
        // where that would be too many packets, two flows begin at once, in a world of their own
        large = kPacketsOfAPoint * packet_ns / turn < kAlone + kLook + kTogether + kLookAtTwo;
    }

    // Prints one line of the table; true if all bars hold.
    bool print()
    {
        unsigned frames = static_cast<unsigned>((bdp + queue_bytes) / frame * 1.3) + 16384;
        BulkPools pools = {
            pool_make("head", 8191, RTE_PKTMBUF_HEADROOM + 1024), pool_make("attach", 16383, 0),
            pool_make("copy", 1023, RTE_PKTMBUF_HEADROOM + 9600),
            pool_make("wire", frames, (uint16_t)(RTE_PKTMBUF_HEADROOM + frame + 80))};
        Measure one, two;

        if (large) {
            {
                Dumbbell alone(options(1), pools);

                alone.start(0);
                settle(alone, 30);
                one = look(alone, 1, 20);
            }
            Dumbbell both(options(2), pools);

            both.start(0);
            both.start(1);
            two = look_at_two(both, 40);
        } else {
            Dumbbell s(options(2), pools);

            s.start(0);
            settle(s, kAlone);
            one = look(s, 1, kLook);
            s.start(1);
            // where few packets are under way, it takes longer until chance evens out
            two = look_at_two(s, std::max(kLookAtTwo, kPacketsAtTwo * packet_ns / turn));
        }
        return print(one, two);
    }

  private:
    static constexpr double kAlone = 80, kLook = 100, kLookAtTwo = 400; // turns
    static constexpr double kPacketsAtTwo = 16384;

    DumbbellOptions options(uint32_t senders) const
    {
        DumbbellOptions o;

        o.rate_bps = p.rate_bps;
        o.rtt_ns = p.rtt_ns;
        o.queue_bytes = queue_bytes;
        o.loss = p.loss;
        o.mtu = p.mtu;
        o.senders = senders;
        o.seed = seed;
        return o;
    }

    void settle(Dumbbell &s, double turns)
    {
        double ns = std::max(turns * turn, 30 * kMs);

        if (!trace) {
            s.run(ns);
            return;
        }
        for (double t = 0; t < ns; t += 10 * turn) {
            uint64_t before[2] = {s.info(0).rx_bytes, s.info(1).rx_bytes};

            s.run(10 * turn);
            std::printf("  %10.3f ms, %8lu B wait, %6lu dropped", (double)world_now(s.w) / kMs,
                        s.link()->queued_bytes, s.link()->dropped);
            for (uint32_t i = 0; i < 2; i++) {
                struct host_conn_info f = s.info(i);

                std::printf(" | %9.3f of %9.3f Mbit/s (%s), %lu lost, %lu twice",
                            (double)(f.rx_bytes - before[i]) * 8e3 / (10 * turn),
                            (double)f.rx_rate_Bps * 8e-6, host_reason_name(f.rx_reason), f.rx_lost,
                            f.rx_duplicates);
            }
            std::printf("\n");
        }
    }

    Measure look_at_two(Dumbbell &s, double turns)
    {
        settle(s, kSoon);
        soon = look(s, 2, 40).jain;
        settle(s, kTogether - kSoon - 40);
        return look(s, 2, turns);
    }

    // Measures so many flows from now on.
    Measure look(Dumbbell &s, uint32_t flows, double turns)
    {
        double ns = std::max(turns * turn, std::min(5 * turns * turn, 500 * kMs));
        double sum = 0, squares = 0, wire = 0;
        std::vector<struct host_conn_info> before;
        Measure m;

        for (uint32_t i = 0; i < flows; i++)
            before.push_back(s.info(i));
        m.queue_bytes = s.queue_bytes(ns);
        for (uint32_t i = 0; i < flows; i++) {
            double bytes = (double)(s.info(i).rx_bytes - before[i].rx_bytes);

            wire += bytes + kHeaders * (double)(s.info(i).rx_units - before[i].rx_units);
            sum += bytes;
            squares += bytes * bytes;
        }
        m.used = wire * 8e9 / ns / p.rate_bps;
        m.jain = squares > 0 ? sum * sum / flows / squares : 0;
        return m;
    }

    bool print(const Measure &one, const Measure &two)
    {
        double used_bar = 1 - p.loss - 0.02, queue_bar = std::max(0.2 * bdp, 2 * frame);
        bool ok = one.used >= used_bar && one.queue_bytes <= queue_bar && two.jain >= 0.95;

        std::printf("%-22s %7.2f %7.2f %9.2f %9.2f   %7.2f %9.2f %6.3f %6.3f  %s%s\n",
                    name(p).c_str(), 100 * one.used, 100 * used_bar, one.queue_bytes / frame,
                    queue_bar / frame, 100 * two.used, two.queue_bytes / frame, soon, two.jain,
                    ok ? "holds" : "NO", large ? " *" : "");
        std::fflush(stdout);
        return ok;
    }

    Point p;
    uint64_t seed;
    bool trace, large;
    double frame, packet_ns, bdp, queue_bytes, turn, soon = 0;
};

struct Options {
    std::string only;
    int jobs = 1;
    uint64_t seed = 1;
    bool trace = false;
};

void usage(FILE *to)
{
    std::fprintf(to,
                 "Usage: path_grid [OPTIONS]\n"
                 "Hosts find out what a path carries, which nobody described to them: %zu paths.\n"
                 "  --only REGEX  of these names\n"
                 "  --jobs N      so many processes\n"
                 "  --seed N      of losses and keys; 1 unless told\n"
                 "  --trace       says what happens on the way\n"
                 "  --list        the names: rate, round trip, queue in bandwidth-delay products\n"
                 "                (4 packets at least), loss behind the link in %%\n",
                 std::size(kPoints));
}

Options parse(int argc, char **argv)
{
    Options o;

    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];

        if (a == "--only" && i + 1 < argc) {
            o.only = argv[++i];
        } else if (a == "--jobs" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
            o.jobs = std::atoi(argv[++i]);
        } else if (a == "--seed" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
            o.seed = static_cast<uint64_t>(std::atoi(argv[++i]));
        } else if (a == "--trace") {
            o.trace = true;
        } else if (a == "--list") {
            for (const Point &p : kPoints)
                std::printf("%s\n", name(p).c_str());
            std::exit(0);
        } else {
            usage(a == "--help" ? stdout : stderr);
            std::exit(a == "--help" ? 0 : 2);
        }
    }
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    Options o = parse(argc, argv);
    std::regex only(o.only);
    int failed = 0, running = 0, n = 0, status;

    std::printf("seed %lu\n%-22s %7s %7s %9s %9s   %7s %9s %6s %6s\n"
                "%-22s %7s %7s %9s %9s   %7s %9s %6s %6s\n",
                o.seed, "", "used %", "", "queue", "", "two", "queue", "Jain", "Jain", "path", "",
                "bar", "packets", "bar", "used %", "packets", "soon", "");
    std::fflush(stdout);
    for (const Point &p : kPoints) {
        if (!std::regex_search(name(p), only))
            continue;
        n++;
        if (running == o.jobs) {
            wait(&status);
            failed += status != 0;
            running--;
        }
        // EAL can start only once in a process
        if (fork() == 0)
            _exit(eal_start(argv[0], "6144") && Run(p, o.seed, o.trace).print() ? 0 : 1);
        running++;
    }
    for (; running > 0; running--) {
        wait(&status);
        failed += status != 0;
    }
    std::printf("bars: used: 100 %% - loss - 2 %%; queue (mean, of one flow): 0.2 bandwidth-delay "
                "products, or 2 packets; Jain's index of two flows, %.0f turns (a round trip and a "
                "trial) after the second began: 0.95; soon: after %.0f.\n"
                "*: both flows begin at once; elsewhere the second comes to a first that has "
                "settled.\n%d paths, %d failed\n",
                Run::kTogether, Run::kSoon, n, failed);
    return failed > 0 || n == 0 ? 1 : 0;
}
