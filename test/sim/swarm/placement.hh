// SPDX-License-Identifier: BSD-3-Clause
// Watches the receive buffers while a host takes a burst. Before it, all bytes at the places of the
// burst's units are XORed with a mask, so a second write of the same bytes is noticed, too. Places
// that the host leaves alone are restored afterwards. At a place that it writes, the unit must have
// been missing, and exactly its payload must be there now. A frame with a wrong checksum may leave
// other bytes there, but its unit stays missing.
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

    // before(): takes each frame of the burst before the host does. after(): the host has taken
    // all.
    void before(uint32_t i, const Seen &s);
    void after();
    uint64_t placed = 0, again = 0;

  private:
    struct Spot {
        End *end;
        size_t request;
        uint32_t unit, unit_bytes, len;
        uint8_t *p;
        uint8_t mask; // XORed with the bytes before the burst
        std::vector<uint8_t> was, payload;
        bool valid;  // a frame with this payload has a correct checksum
        bool unsure; // another frame may have been written: corrupt, or of another attempt
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
