// SPDX-License-Identifier: BSD-3-Clause
// Watches the receive buffers while a host takes a burst: every byte where a unit of the burst
// would belong is turned over first. What the host does not write is turned back; what it does
// write must be a unit that was still missing, exactly its payload, or (of a frame whose checksum
// is wrong) in a place that stays missing. So writing the same bytes again is seen, too.
#ifndef SLUICE_TEST_SIM_PLACEMENT_HH
#define SLUICE_TEST_SIM_PLACEMENT_HH

#include <cstdint>
#include <vector>

#include "user.hh"
#include "watch.hh"

class Placement
{
  public:
    Placement(Users *users, Watch *watch, Verdict *verdict)
        : users(users), watch(watch), verdict(verdict)
    {
    }

    // A frame of the burst, before the host has it; then, when it has had all of them.
    void before(uint32_t i, const Seen &s);
    void after();
    uint64_t placed = 0, again = 0;

  private:
    struct Spot {
        End *end;
        size_t request;
        uint32_t unit, unit_bytes, len;
        uint8_t *p;
        uint8_t mask; // with which it was turned over
        std::vector<uint8_t> was, payload;
        bool valid;  // a frame with this payload has a right checksum
        bool unsure; // another frame may be what was written: corrupt, or of another attempt
    };

    void judge(Spot &s);
    void turn_back(Spot &s);
    void take(Spot &s, Block &b);

    Users *users;
    Watch *watch;
    Verdict *verdict;
    std::vector<Spot> spots;
    size_t count = 0; // spots in use
};

#endif
