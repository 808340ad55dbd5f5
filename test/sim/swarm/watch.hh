// SPDX-License-Identifier: BSD-3-Clause
// Watches every frame that the hosts of a swarm's world make or are given, with lib/wire alone. It
// learns of connections from FIRST and CNTL, and checks that each side keeps to the protocol:
// - frames parse, checksums are right; packet and CNTL numbers go up by one; ack and posted never
//   go back; ack is not beyond what was sent, nor DATA beyond what was posted
// - pacing: in any window W under one grant, bytes <= rate * W + 2 * burst + one packet. The grant
//   is the one in the newest CNTL that the sender was given, whatever the sender makes of it
// - no unit is asked for twice within the shortest round trip that the links allow
// - an opener that has not shown the acceptor's key yet is sent no more bytes than came from it
// Times in ns of the world.
#ifndef SLUICE_TEST_SIM_WATCH_HH
#define SLUICE_TEST_SIM_WATCH_HH

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

extern "C" {
#include "base/seq.h"
#include "wire/assoc.h"
#include "wire/frame.h"
#include "wire/packet.h"
}

#include "plan.hh"
#include "verdict.hh"

// A frame, as far as it can be parsed.
struct Seen {
    bool sluice; // UDP, and the header parses
    bool valid;  // ... and the checksum is right
    struct frame frame;
    wire_header h;
    const uint8_t *payload;
    uint32_t len;      // of the whole payload, without the trailer of a sealed packet
    uint32_t head_len; // bytes of it at `payload`
};

class Watch
{
  public:
    // One side of a connection, as the other side and the wire know it.
    struct Side {
        uint32_t host;
        uint64_t key; // by which it is addressed; 0: not known
        // as a sender
        uint64_t packet, sent_end;
        std::set<uint32_t> refused;
        uint64_t passed; // end of what was sent, or of a refused request
        uint32_t initial, unit_bytes, end_unit_bytes; // the last: at sent_end
        // as a receiver
        uint32_t cntl, posted;
        uint64_t ack;
        bool has_cntl;
        struct Asked {
            uint64_t end, at;
        };
        std::map<uint64_t, Asked> asked; // by first position, counted from the initial one
        // pacing: the fullest window so far starts where bytes - rate * t was lowest
        uint32_t grant_seq;
        bool granted;
        uint64_t rate_Bps, burst_bytes, largest;
        __int128 bytes, least; // times 1e9
        uint64_t heard_at;     // when a valid DATA or CNTL last came
    };
    struct Conn {
        uint32_t talk, number;
        Side side[2]; // opener, acceptor
        bool proven;  // or sealed: then the FIRST is proof enough
        uint64_t allowance;
    };

    Watch(const Plan &plan, Verdict *verdict) : plan(plan), verdict(verdict)
    {
    }

    // Takes a frame that host_tx() of host i has just given.
    void made(uint32_t i, const rte_mbuf *m, uint64_t now);
    // Takes a frame that host i is about to get.
    void given(uint32_t i, const rte_mbuf *m, const Seen &s, uint64_t now);
    // What a frame of len bytes is, head_len of which are at p. whole: that is all of it, and its
    // checksum is there.
    Seen see(const uint8_t *p, uint32_t head_len, uint32_t len, bool whole) const;

    // The connection, and its side, to which a frame for host i belongs; nullptr: none.
    Conn *find(uint32_t i, const Seen &s, uint32_t *side);
    // The newest connection of a talk; nullptr if none has been seen.
    const Conn *of_talk(uint32_t talk) const;
    const std::deque<Conn> &all() const
    {
        return conns;
    }
    uint64_t naks = 0, paced = 0, units = 0, repeats = 0;

  private:
    // Numbers under which packets were sealed: host, association, number. None occurs twice.
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> ledger;

    struct Place {
        uint32_t conn, side;
    };
    static uint64_t place_key(uint32_t host, uint64_t key)
    {
        return key * 0x9e3779b97f4a7c15ull ^ host;
    }
    uint32_t host_of(const addr &a) const
    {
        return static_cast<uint32_t>(a.b[14] << 8 | a.b[15]) - 1;
    }

    void sealed_made(uint32_t i, const Seen &s, const rte_mbuf *m);
    void first_made(uint32_t i, const Seen &s);
    void data_made(Conn &c, uint32_t from, const Seen &s, uint64_t now);
    void cntl_made(Conn &c, uint32_t from, const Seen &s, const wire_cntl &v, uint64_t now);
    void spans_made(Conn &c, uint32_t from, const wire_cntl &v, uint64_t now);
    void amount_made(Conn &c, uint32_t from, const Seen &s);
    void pace(const Conn &c, Side &s, uint64_t len, uint64_t now);
    void grant(Side &s, uint64_t rate_Bps, uint64_t burst_bytes, uint64_t now);
    uint64_t min_round_trip() const
    {
        return std::min<uint64_t>(2 * plan.floor_ns, 50000000); // 50 ms: not measured yet
    }

    const Plan &plan;
    Verdict *verdict;
    std::deque<Conn> conns;
    std::unordered_map<uint64_t, Place> places; // (host, its key)
    std::unordered_map<uint32_t, uint32_t> talks;
};

#endif
