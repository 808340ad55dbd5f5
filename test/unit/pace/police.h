// SPDX-License-Identifier: BSD-3-Clause
// A policer of a contract. It counts with the path emulator's GCRA, and gives no tolerance beyond
// that of the contract.
#ifndef SLUICE_TEST_POLICE_H
#define SLUICE_TEST_POLICE_H

#include <cstdint>

extern "C" {
#include "base/clock.h"
#include "pace/contract.h"
#include "path/element/gcra.h"
}

struct Police {
    Police(const contract_config &c, uint64_t hz) : cfg(c)
    {
        const struct clock clock = {hz};

        peak_slack = sustained_slack = clock_cycles(&clock, c.cdvt_ns);
        gcra_init(&peak, c.pcr_Bps, hz);
        if (c.scr_Bps == 0)
            return;
        gcra_init(&sustained, c.scr_Bps, hz);
        sustained_slack += gcra_tolerance(c.mbs_bytes, c.unit_bytes, c.scr_Bps, c.pcr_Bps, hz);
    }

    // Packets that do not conform are not counted, since a policer drops them.
    bool conforms(uint64_t at, uint64_t len_bytes)
    {
        if (!gcra_conforms(&peak, at, peak_slack) ||
            (cfg.scr_Bps != 0 && !gcra_conforms(&sustained, at, sustained_slack)))
            return false;
        gcra_take(&peak, at, len_bytes);
        if (cfg.scr_Bps != 0)
            gcra_take(&sustained, at, len_bytes);
        return true;
    }

    contract_config cfg;
    gcra peak = {}, sustained = {};
    uint64_t peak_slack, sustained_slack;
};

#endif
