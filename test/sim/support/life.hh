// SPDX-License-Identifier: BSD-3-Clause
// The life of one connection. It is always the same, but a test may choose the fate of each frame.
// It has a connect, data before the answer, requests of several sizes and of none, a provisional
// send, both directions, buffers posted too late, a router on the path that limits the sender, and
// an orderly close.
#ifndef SLUICE_TEST_SIM_LIFE_HH
#define SLUICE_TEST_SIM_LIFE_HH

#include <map>
#include <string>
#include <vector>

#include "pair.hh"

struct LifeFrame {
    uint32_t from;
    uint64_t at_ns;
    frame_kind kind;
    int type;      // enum wire_type; 0: not Sluice's
    uint8_t flags; // enum wire_flag
};

struct LifeOptions {
    bool go_back_n = false;
    bool brief = false; // one request of one byte, and close
    bool ipv6 = false;
    uint64_t after_ns = 0; // run on after the close: late copies must have no effect
};

// Fates of frames, by their numbers in the order of sending.
using LifeFates = std::map<size_t, world_fate>;

struct LifeResult {
    std::string fault; // empty: none
    std::vector<LifeFrame> frames;
    uint32_t flags[5]; // enum wire_flag, by type
    uint64_t end_ns;
};

LifeResult live(const LifeOptions &options, const LifeFates &fates);

#endif
