// SPDX-License-Identifier: BSD-3-Clause
// The text of a path element that loses a share of the packets, after a blank. `run` is the mean
// length of a run of losses (0: losses are independent). The text is empty if the share is 0.
#ifndef SLUICE_TEST_SIM_LOSS_TEXT_HH
#define SLUICE_TEST_SIM_LOSS_TEXT_HH

#include <string>

#include "text.hh"

inline std::string loss_text(double share, double run)
{
    if (share <= 0)
        return "";
    if (run <= 0)
        return text(" loss %.9g%%", 100 * share);
    return text(" loss gemodel %.9g%% %.9g%%", 100 * share / (1 - share) / run, 100 / run);
}

#endif
