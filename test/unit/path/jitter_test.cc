// SPDX-License-Identifier: BSD-3-Clause
// Jitter of the element delay: laws, files, correlation, order.
#include <algorithm>

#include "support.h"

namespace
{

constexpr uint64_t N = 1000000;
constexpr double MEAN = 1e7, SPREAD = 1e6; // cycles at 1 GHz: "delay 10ms 1ms"

/* A law with mean 0 and deviation 1, in 4096 pieces of equal probability, as law.h describes it. It
 * is computed independently of lib/path. */
struct Law {
    std::vector<double> knots;

    double at(double u) const
    {
        double x = u * (double)(knots.size() - 1);
        size_t i = std::min((size_t)x, knots.size() - 2);

        return knots[i] + (knots[i + 1] - knots[i]) * (x - (double)i);
    }
    /* The k-th moment, with 16 points in each piece. */
    double moment(int k) const
    {
        double sum = 0;

        for (size_t i = 0; i + 1 < knots.size(); i++) {
            double a = knots[i], b = knots[i + 1];

            for (int s = 0; s < 16; s++) {
                double x = a + (b - a) * (s + 0.5) / 16;
                sum += std::pow(x, k) / 16;
            }
        }
        return sum / (double)(knots.size() - 1);
    }
    void standardise()
    {
        double mean = moment(1);
        for (double &x : knots)
            x -= mean;
        double deviation = std::sqrt(moment(2));
        for (double &x : knots)
            x /= deviation;
    }
};

double normal_quantile(double u)
{
    double low = -10, high = 10;

    for (int i = 0; i < 100; i++) {
        double x = (low + high) / 2;

        (std::erfc(-x / std::sqrt(2.0)) / 2 < u ? low : high) = x;
    }
    return low;
}

Law normal_law()
{
    Law l{std::vector<double>(4097)};

    for (int i = 1; i < 4096; i++)
        l.knots[(size_t)i] = normal_quantile(i / 4096.0);
    // beyond x, the mean is density(x) / probability
    double x = l.knots[4095], tail = std::exp(-x * x / 2) / std::sqrt(2 * M_PI) * 4096;
    l.knots[4096] = 2 * tail - x;
    l.knots[0] = -l.knots[4096];
    l.standardise();
    return l;
}

Law pareto_law()
{
    Law l{std::vector<double>(4097)};

    for (int i = 0; i < 4096; i++)
        l.knots[(size_t)i] = 1 / std::cbrt(1 - i / 4096.0);
    l.knots[4096] = 2 * l.knots[4095] * 1.5 - l.knots[4095];
    l.standardise();
    return l;
}

Law mixed_law()
{
    Law n = normal_law(), p = pareto_law();

    for (size_t i = 0; i < n.knots.size(); i++)
        n.knots[i] = n.knots[i] / 4 + p.knots[i] * 3 / 4;
    n.standardise();
    return n;
}

/* The delay of each packet, in deviations from the mean. */
std::vector<double> delays_of(const std::string &spec, uint64_t seed, uint64_t n = N)
{
    Line l(spec, GHZ, seed);
    std::vector<double> x(n);

    for (uint64_t i = 0; i < n; i++)
        l.push(i * 20000);
    l.finish();
    EXPECT_EQ(l.out.size(), n);
    for (const Out &o : l.out)
        x[o.id] = ((double)(o.at - l.in[o.id]) - MEAN) / SPREAD;
    return x;
}

void check_law(const std::vector<double> &x, const Law &law, double rho = 0)
{
    double n = (double)x.size(), mean = 0, square = 0, fourth = law.moment(4);

    for (double v : x) {
        mean += v / n;
        square += v * v / n;
    }
    double var = law.moment(2);
    expect_mean(mean, x.size(), law.moment(1), std::sqrt(var), "mean", rho);
    expect_mean(square, x.size(), var, std::sqrt(fourth - var * var), "mean square", rho);
    for (double u : {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999}) {
        double q = law.at(u);
        uint64_t below =
            (uint64_t)std::count_if(x.begin(), x.end(), [q](double v) { return v <= q; });

        expect_share(below, x.size(), u, ("quantile " + std::to_string(u)).c_str(), rho);
    }
}

TEST(Jitter, Uniform)
{
    std::vector<double> x = delays_of("delay 10ms 1ms", 1);

    check_law(x, Law{{-1, 1}});
    EXPECT_GE(*std::min_element(x.begin(), x.end()), -1);
    EXPECT_LE(*std::max_element(x.begin(), x.end()), 1);
    check_law(delays_of("delay 10ms 1ms distribution uniform", 2), Law{{-1, 1}});
}

TEST(Jitter, Normal)
{
    check_law(delays_of("delay 10ms 1ms distribution normal", 3), normal_law());
}

TEST(Jitter, NormalIsTheRealOne)
{
    std::vector<double> x = delays_of("delay 10ms 1ms distribution normal", 4);

    for (double q : {-3.0, -2.0, -1.0, -0.3, 0.0, 0.7, 1.5, 2.5, 3.2})
        expect_share((uint64_t)std::count_if(x.begin(), x.end(), [q](double v) { return v <= q; }),
                     N, std::erfc(-q / std::sqrt(2.0)) / 2, "normal law");
}

TEST(Jitter, Pareto)
{
    check_law(delays_of("delay 10ms 1ms distribution pareto", 5), pareto_law());
}

TEST(Jitter, ParetoNormal)
{
    check_law(delays_of("delay 10ms 1ms distribution paretonormal", 6), mixed_law());
}

TEST(Jitter, TableFromFile)
{
    TempFile f("# a table as netem has them\n-8192 0 8192\n 16384 # twice\n-16384\n");
    std::vector<double> x = delays_of("delay 10ms 1ms distribution " + f.name, 7);
    std::vector<uint64_t> counts(5, 0);

    for (double v : x) {
        ASSERT_EQ(v, std::round(v));
        ASSERT_LE(std::fabs(v), 2);
        counts[(size_t)(v + 2)]++;
    }
    expect_even(counts, "entries of a table");
}

TEST(Jitter, NeverBelowZero)
{
    Line l("delay 1ms 3ms");
    uint64_t none = 0;
    double mean = 0;

    for (uint64_t i = 0; i < N; i++)
        l.push(i * 20000);
    l.finish();
    for (const Out &o : l.out) {
        none += o.at == l.in[o.id];
        mean += (double)(o.at - l.in[o.id]) / 1e6 / (double)N;
    }
    // uniform over -2 .. 4 ms, where values below 0 become 0
    expect_share(none, N, 2.0 / 6, "clamped");
    expect_mean(mean, N, 16.0 / 12, std::sqrt(64.0 / 18 - 16.0 * 16 / 144), "clamped mean");
    EXPECT_NEAR((double)histogram_mean(l.element().delay) / 1e6, mean, 1e-6);
}

TEST(Jitter, CorrelationDecaysAsPowersAndLeavesTheLaw)
{
    Law law = normal_law();
    double rho = 0.4, fourth = law.moment(4);
    std::vector<double> x = delays_of("delay 10ms 1ms 40% distribution normal", 8);
    uint64_t same = 0;

    check_law(x, law, rho);
    for (size_t i = 1; i < N; i++)
        same += x[i] == x[i - 1];
    expect_share(same, N - 1, rho, "drawn again");
    for (int k = 1; k <= 5; k++) {
        double r = std::pow(rho, k), mean = 0;

        for (size_t i = 0; i + (size_t)k < N; i++)
            mean += x[i] * x[i + (size_t)k] / (double)(N - (size_t)k);
        // the variance of the products; they are alike over k packets, then less by rho each
        double variance = r * fourth + (1 - r) - r * r, alike = 1 + 2 * k + 2 * rho / (1 - rho);
        expect_mean(mean, N, r, std::sqrt(variance * alike), "autocorrelation");
    }
}

TEST(Jitter, ReordersWithoutOrder)
{
    Line l("delay 1ms 500us", 2600000000, 9);

    for (uint64_t i = 0; i < 100000; i++)
        l.push(i * 26000);
    l.finish();
    uint64_t late = 0;
    uint32_t most = 0;
    for (const Out &o : l.out) {
        late += o.id < most;
        most = std::max(most, o.id);
    }
    EXPECT_GT(late, 10000u);
    EXPECT_EQ(l.counts().reordered, late);
    EXPECT_TRUE(std::is_sorted(l.out.begin(), l.out.end(),
                               [](const Out &a, const Out &b) { return a.at < b.at; }));
}

TEST(Jitter, OrderKeepsThemBack)
{
    Line free("delay 1ms 500us", 2599999813, 10), kept("delay 1ms 500us order", 2599999813, 10);
    uint64_t last = 0;

    for (uint64_t i = 0; i < 100000; i++) {
        free.push(i * 26001);
        kept.push(i * 26001);
    }
    free.finish();
    kept.finish();
    ASSERT_EQ(kept.out.size(), 100000u);
    std::vector<Out> alone = free.by_id();
    for (uint32_t i = 0; i < 100000; i++) {
        last = std::max(last, alone[i].at);
        ASSERT_EQ(kept.out[i].id, i);
        ASSERT_EQ(kept.out[i].at, last);
    }
    EXPECT_EQ(kept.counts().reordered, 0u);
}

TEST(Jitter, SeedDecidesAllOfIt)
{
    std::vector<double> a = delays_of("delay 10ms 1ms", 11, 1000);

    EXPECT_EQ(a, delays_of("delay 10ms 1ms", 11, 1000));
    EXPECT_NE(a, delays_of("delay 10ms 1ms", 12, 1000));
    EXPECT_EQ(a, delays_of("delay 10ms 1ms seed 11", 99, 1000));
}

} // namespace
