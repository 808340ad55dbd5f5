// SPDX-License-Identifier: BSD-3-Clause
// What one sender makes of the path of a dumbbell, once it has settled.
#ifndef SLUICE_TEST_SIM_PATH_USE_HH
#define SLUICE_TEST_SIM_PATH_USE_HH

#include "pair.hh"
#include "dumbbell.hh"

struct PathUse {
    double used; // share of rate_bps
    double lost; // of the units that came
};

// In look_rtts round trips and 200 ms.
inline PathUse path_use(const DumbbellOptions &o, double rate_bps, double look_rtts)
{
    const Pools &pools = Pools::get();
    Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
    double look_ns = look_rtts * o.rtt_ns + 200e6;

    s.start(0);
    s.run(100 * o.rtt_ns + 200e6);
    auto before = s.info(0);
    s.run(look_ns);
    auto after = s.info(0);
    double used = static_cast<double>(after.rx_bytes - before.rx_bytes) * 8e9 / look_ns / rate_bps;

    return {used * Dumbbell::kFrame / Dumbbell::kPayload,
            static_cast<double>(after.rx_lost - before.rx_lost) /
                static_cast<double>(after.rx_units - before.rx_units)};
}

#endif
