// SPDX-License-Identifier: BSD-3-Clause
// Fair shares, found in the simplest way, and measures of how near figures come to them.
#ifndef SLUICE_TEST_SIM_FAIR_HH
#define SLUICE_TEST_SIM_FAIR_HH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

struct FairUser {
    double weight;
    double demand; // HUGE_VAL: no limit
};

// Weighted max-min shares. Bisection finds the level at which all of the capacity is shared out.
inline std::vector<double> fair_shares(const std::vector<FairUser> &users, double capacity)
{
    double low = 0, high = capacity;
    std::vector<double> share(users.size());

    for (int i = 0; i < 100; i++) {
        double level = (low + high) / 2, sum = 0;

        for (size_t k = 0; k < users.size(); k++)
            sum += share[k] = std::min(users[k].demand, users[k].weight * level);
        (sum > capacity ? high : low) = level;
    }
    return share;
}

inline double fair_sum(const std::vector<double> &v)
{
    return std::accumulate(v.begin(), v.end(), 0.0);
}

// The largest distance from a share, relative to that share. A distance of packets_Bps, which a few
// packets make by chance, does not count.
inline double fair_error(const std::vector<double> &has, const std::vector<double> &share,
                         double packets_Bps)
{
    double worst = 0;

    for (size_t i = 0; i < has.size(); i++)
        if (share[i] > 0)
            worst = std::max(worst, (std::fabs(has[i] - share[i]) - packets_Bps) / share[i]);
    return worst;
}

// Jain's index of fairness of has[i] / share[i]: 1 where all have the same part of their shares.
inline double fair_jain(const std::vector<double> &has, const std::vector<double> &share)
{
    double sum = 0, squares = 0, n = 0;

    for (size_t i = 0; i < has.size(); i++) {
        if (share[i] <= 0)
            continue;
        sum += has[i] / share[i];
        squares += has[i] / share[i] * (has[i] / share[i]);
        n++;
    }
    return n > 0 ? sum * sum / (n * squares) : 1;
}

// The same, if all shares are equal.
inline double fair_jain(const std::vector<double> &has)
{
    return fair_jain(has, std::vector<double>(has.size(), 1.0));
}

#endif
