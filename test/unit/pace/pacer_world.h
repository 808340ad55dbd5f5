/* SPDX-License-Identifier: BSD-3-Clause */
/* A pacer with its storage, and packets that know their flow, number and length. */
#ifndef SLUICE_TEST_PACER_WORLD_H
#define SLUICE_TEST_PACER_WORLD_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "pace/contract.h"
#include "pace/pacer.h"
}

struct Packet {
    uint32_t flow, number, len_bytes;
};

class PacerWorld
{
  public:
    PacerWorld(const struct pacer_config &cfg, uint64_t now)
        : memory(std::aligned_alloc(64, (pacer_storage_bytes(&cfg) + 63) / 64 * 64), std::free)
    {
        std::memset(memory.get(), 0xa5, pacer_storage_bytes(&cfg));
        p = pacer_init(memory.get(), &cfg, now);
        pushed.resize(cfg.flows);
    }

    /* The packet, or NULL if there was no room. */
    Packet *push(uint32_t flow, uint32_t len_bytes, uint64_t now)
    {
        packets.emplace_back(new Packet{flow, pushed[flow], len_bytes});
        if (!pacer_push(p, flow, packets.back().get(), len_bytes, now)) {
            packets.pop_back();
            return nullptr;
        }
        pushed[flow]++;
        return packets.back().get();
    }

    /* All packets that may go now, at most max at a time. */
    std::vector<Packet *> poll(uint64_t now, uint32_t max = 32)
    {
        std::vector<Packet *> all;
        std::vector<void *> some(max);
        uint32_t n;

        do {
            n = pacer_poll(p, now, some.data(), max);
            for (uint32_t i = 0; i < n; i++)
                all.push_back(static_cast<Packet *>(some[i]));
        } while (n > 0 || pacer_next(p) <= now);
        return all;
    }

    std::unique_ptr<void, void (*)(void *)> memory;
    struct pacer *p;
    std::vector<std::unique_ptr<Packet>> packets;
    std::vector<uint32_t> pushed; /* of each flow */
};

#endif
