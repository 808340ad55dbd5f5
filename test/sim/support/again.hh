// SPDX-License-Identifier: BSD-3-Clause
// A receiver that never stops: it posts each buffer again once a request has filled it.
#ifndef SLUICE_TEST_SIM_AGAIN_HH
#define SLUICE_TEST_SIM_AGAIN_HH

#include <cstdint>
#include <vector>

extern "C" {
#include "host/host.h"
}

inline void receive_again(host *h, std::vector<uint8_t> &memory, uint64_t now)
{
    host_completion done[64];
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t i = 0; i < n; i++)
            if (done[i].op == HOST_RECV && done[i].status == 0)
                host_recv(h, done[i].conn, memory.data(), memory.size(), done[i].user, now);
}

#endif
