// SPDX-License-Identifier: BSD-3-Clause
// The experiment of the XTP paper ([XTP-RATE], figures 4-7): throughput and recoveries over rate
// and burst. And the settings that the product finds for such a host (section 4).
//
// No rate above that of Ethernet is used. Ethernet slowed down the paper's sender, but it would
// fill the queue of the product's sender.
#include <algorithm>
#include <map>
#include <string>

#include "ethernet.hh"
#include "findings.hh"

namespace
{

constexpr double kSeconds = 10;
constexpr double kWire = 813 * 1454; // user bytes a second

struct Result {
    double rate_Mbps, throughput_Mbps, recoveries; // recoveries: per 1000 packets
};

Result measure(const workstation *machine, double rate_Bps, uint32_t burst_packets)
{
    EthernetOptions o;

    o.machine = machine;
    o.rate_Bps = static_cast<uint64_t>(std::min(rate_Bps, kWire));
    o.burst_bytes = burst_packets * kUser;
    Ethernet e(o);

    e.run(2);
    double packets = e.packets(0);
    uint64_t runs = e.info(0).rx_loss_runs;

    e.run(kSeconds);
    packets = e.packets(0) - packets;
    runs = e.info(0).rx_loss_runs - runs;
    return {8e-6 * static_cast<double>(o.rate_Bps), packets * kUser * 8e-6 / kSeconds,
            1000 * static_cast<double>(runs) / packets};
}

// Rates in steps of 100,000 bytes a second, as in the paper.
std::vector<Result> sweep(const workstation *machine, uint32_t burst_packets)
{
    std::vector<Result> out;

    for (uint32_t r = 1; r <= 12; r++)
        out.push_back(measure(machine, r * 1e5, burst_packets));
    return out;
}

size_t best_of(const std::vector<Result> &v)
{
    return static_cast<size_t>(std::max_element(v.begin(), v.end(),
                                                [](const Result &a, const Result &b) {
                                                    return a.throughput_Mbps < b.throughput_Mbps;
                                                }) -
                               v.begin());
}

// The throughput lost per Mbit/s of rate, between the best rate and the wire's rate, over the best.
double fall(const std::vector<Result> &v)
{
    const Result &best = v[best_of(v)], &last = v.back();

    return (1 - last.throughput_Mbps / best.throughput_Mbps) / (last.rate_Mbps - best.rate_Mbps);
}

struct Machine {
    const workstation *model;
    const char *name;
    std::vector<uint32_t> fit; // bursts, in packets
    std::vector<uint32_t> large;
    double best_Mbps, knee_Bps;
    double recoveries[2], packets[2]; // the paper's ranges
    const char *best, *between;
};

const Machine kSparc = {
    &workstation_sparc1, "SPARC", {1, 10, 30}, {50, 70}, 8.05, 1e6, {20, 28}, {35, 50},
    "8.x Mb/s",          "20-28"};
const Machine kSun3 = {&workstation_sun3, "Sun3",   {1, 5, 10}, {20},   5.2, 6e5,
                       {65, 90},          {10, 18}, "5.2 Mb/s", "65-90"};

class Xtp : public testing::TestWithParam<Machine>
{
  protected:
    static std::string name(const char *format, uint32_t burst)
    {
        return "xtp-rate-burst: " + std::string(GetParam().name) + text(", burst %u: ", burst) +
               format;
    }
};

} // namespace

TEST_P(Xtp, BurstsThatFit)
{
    Findings &f = Findings::get();
    const Machine &m = GetParam();
    double best = 0;

    for (uint32_t burst : m.fit) {
        double least = 1, most = 0;

        for (double rate = 1e5; rate <= m.knee_Bps - 5e4; rate += 1e5) {
            Result r = measure(m.model, rate, burst);

            least = std::min(least, r.throughput_Mbps / r.rate_Mbps);
            most = std::max(most, r.recoveries);
            best = std::max(best, r.throughput_Mbps);
        }
        f.add(name("throughput over rate below the knee, least", burst * kUser), "about 1", least,
              "", 0.97, 1.01);
        f.add(name("recoveries per 1000 there, most", burst * kUser), "almost none", most, "", 0,
              2);
    }
    // The best rate lies between two steps of the sweep.
    for (double rate = m.knee_Bps - 1e5; rate <= m.knee_Bps + 1e5; rate += 1e4)
        best = std::max(best, measure(m.model, rate, 1).throughput_Mbps);
    f.add("xtp-rate-burst: " + std::string(m.name) + ": best throughput", m.best, best, "Mb/s",
          0.97 * m.best_Mbps, 1.03 * m.best_Mbps);
}

TEST_P(Xtp, BurstsThatDoNot)
{
    Findings &f = Findings::get();
    const Machine &m = GetParam();

    for (uint32_t burst : m.large) {
        double least = 1000, most = 0, share = 0;

        for (double rate = 1e5; rate <= 0.8 * m.knee_Bps; rate += 1e5) {
            Result r = measure(m.model, rate, burst);

            least = std::min(least, r.recoveries);
            most = std::max(most, r.recoveries);
            share = std::max(share, r.throughput_Mbps / r.rate_Mbps);
        }
        f.add(name("recoveries per 1000, least", burst * kUser), m.between, least, "",
              m.recoveries[0], m.recoveries[1]);
        f.add(name("recoveries per 1000, most", burst * kUser), m.between, most, "",
              m.recoveries[0], m.recoveries[1]);
        f.add(name("throughput over rate, most", burst * kUser), "below 1", share, "", 0.3, 0.9);
    }
}
INSTANTIATE_TEST_SUITE_P(Machines, Xtp, testing::Values(kSparc, kSun3),
                         [](const testing::TestParamInfo<Machine> &i) {
                             return std::string(i.param.name);
                         });

// Beyond the knee, the buffer is always full. The rate of arrival decides how much of the
// recoveries' time is lost: at 8 Mbit/s, one step of rate leaves no pause at all.
TEST(XtpKnee, SteepAndSlow)
{
    Findings &f = Findings::get();
    std::vector<Result> sparc = sweep(&workstation_sparc1, 10), sun3 = sweep(&workstation_sun3, 10);
    std::vector<Result> one = sweep(&workstation_sparc1, 1), other = sweep(&workstation_sun3, 1);
    size_t knee = best_of(sparc), knee3 = best_of(sun3);

    f.add("xtp-rate-burst: SPARC, burst 14540: lost at one step past the best", "steeply",
          1 - sparc[knee + 1].throughput_Mbps / sparc[knee].throughput_Mbps, "", 0.25, 1);
    f.add("xtp-rate-burst: Sun3, burst 14540: lost at one step past the best", "slowly",
          1 - sun3[knee3 + 1].throughput_Mbps / sun3[knee3].throughput_Mbps, "", 0, 0.25);
    f.add("xtp-rate-burst: burst 14540: fall per Mb/s, SPARC over Sun3", "above 1",
          fall(sparc) / fall(sun3), "", 1.5, 10);
    // single packets leave pauses on both machines, in which the queue drains
    f.add("xtp-rate-burst: burst 1454: fall per Mb/s, SPARC over Sun3", "above 1",
          fall(one) / fall(other), "", 1.2, 10);
}

// The settings that the product finds for such hosts. Its own senders do not stop.
class XtpHost : public testing::TestWithParam<Machine>
{
  protected:
    static std::string name(const char *what)
    {
        return "xtp-host-capacity: " + std::string(GetParam().name) + ": " + what;
    }
    static EthernetOptions unknown(uint32_t senders)
    {
        EthernetOptions o;

        o.machine = GetParam().model;
        o.senders = senders;
        o.rate_Bps = 1100000;
        o.burst_bytes = 70 * kUser;
        o.given = o.stops = false;
        o.control = true;
        return o;
    }
};

TEST_P(XtpHost, BurstIsEstimated)
{
    Findings &f = Findings::get();
    const Machine &m = GetParam();

    for (uint32_t burst : m.large) {
        EthernetOptions o;

        o.machine = m.model;
        o.rate_Bps = 200000;
        o.burst_bytes = burst * kUser;
        o.control = true;
        o.stops = false;
        double ratio = 1000 / measure(m.model, 200000, burst).recoveries;
        std::vector<double> granted;
        Ethernet e(o);

        f.add(name("packets back to back: received over recoveries"),
              text("%.0f-%.0f", m.packets[0], m.packets[1]), ratio, "packets", m.packets[0],
              m.packets[1]);
        e.run(60);
        for (int i = 0; i < 41; i++) {
            e.run(1);
            granted.push_back(static_cast<double>(e.info(0).rx_burst_bytes) / kUnit);
        }
        std::nth_element(granted.begin(), granted.begin() + 20, granted.end());
        // the grant is an eighth less than the estimate; now and then a larger one is tried
        f.add(name("the same, as control grants them"),
              text("%.0f-%.0f", m.packets[0], m.packets[1]), granted[20] * 8 / 7, "packets",
              m.packets[0], m.packets[1]);
    }
}

TEST_P(XtpHost, FindsItsSettings)
{
    Findings &f = Findings::get();
    const Machine &m = GetParam();
    std::vector<Result> all = sweep(m.model, 1);
    double best = std::max(all[best_of(all)].throughput_Mbps,
                           measure(m.model, m.best_Mbps * 1e6 / 8, 1).throughput_Mbps);
    Ethernet e(unknown(1));

    e.run(10);
    double packets = e.packets(0);
    uint64_t drops = e.drops();

    e.run(30);
    f.add(name("throughput found, over the sweep's best"), "0.95 or more",
          (e.packets(0) - packets) * kUser * 8e-6 / 30 / best, "", 0.95, 1.05);
    f.add(name("packets lost after it settled, in 30 s"), "0",
          static_cast<double>(e.drops() - drops), "", 0, 0);
}

TEST_P(XtpHost, SharesFairly)
{
    Findings &f = Findings::get();
    Ethernet e(unknown(3));

    e.run(15);
    double from[3], got[3];
    uint64_t drops = e.drops();

    for (uint32_t s = 0; s < 3; s++)
        from[s] = e.packets(s);
    e.run(20);
    for (uint32_t s = 0; s < 3; s++)
        got[s] = e.packets(s) - from[s];
    double all = got[0] + got[1] + got[2];

    f.add(name("three connections, least over most"), "fair",
          *std::min_element(got, got + 3) / *std::max_element(got, got + 3), "", 0.95, 1);
    f.add(name("their sum over one's best"), "about 1",
          all * kUser * 8e-6 / 20 / GetParam().best_Mbps, "", 0.95, 1.02);
    f.add(name("packets that they lose, of 1000"), "few",
          1000 * static_cast<double>(e.drops() - drops) / all, "", 0, 1);
    e.pause(0, true);
    e.run(10); // packets that it has handed over must be sent first
    for (uint32_t s = 0; s < 3; s++)
        from[s] = e.packets(s);
    e.run(20);
    for (uint32_t s = 0; s < 3; s++)
        got[s] = e.packets(s) - from[s];
    f.add(name("one pauses: the others' sum over one's best"), "its share moves",
          (got[1] + got[2]) * kUser * 8e-6 / 20 / GetParam().best_Mbps, "", 0.95, 1.02);
}
INSTANTIATE_TEST_SUITE_P(Machines, XtpHost, testing::Values(kSparc, kSun3),
                         [](const testing::TestParamInfo<Machine> &i) {
                             return std::string(i.param.name);
                         });
