// SPDX-License-Identifier: BSD-3-Clause
// Watches every frame that a pair of hosts sends, with lib/wire alone. It checks the rules that
// hold for any connection, whatever happens to the frames:
// - the frame parses and its checksum is right; packet and CNTL numbers go up by one
// - pacing: under one grant no window W carries more than rate * W + 2 * burst + one packet
// - a unit is asked for at most once in 2 * delay, and only if a buffer is posted for it
// - no DATA beyond posted requests + ahead, once the sender has seen a CNTL
// - an opener that has not proven its address is sent no more bytes than came from there
// It watches one connection at a time. Times are in ns of the world.
#ifndef SLUICE_TEST_SIM_ORACLE_HH
#define SLUICE_TEST_SIM_ORACLE_HH

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <rte_mbuf.h>

extern "C" {
#include "base/seq.h"
#include "wire/assoc.h"
#include "wire/frame.h"
#include "wire/packet.h"
}

class Oracle
{
  public:
    struct Grant {
        uint64_t rate_Bps, burst_bytes;
    };
    struct Rules {
        uint64_t delay_ns;
        uint32_t ahead;
        bool sums; // frames carry checksums
        // The grant that the sending side applies now.
        std::function<Grant(uint32_t from)> grant;
    };

    explicit Oracle(Rules r) : rules(std::move(r))
    {
    }

    // Host `from` sends m. Then fate() gives the number of copies that arrive.
    void sent(uint32_t from, const rte_mbuf *m, uint64_t now);
    void fate(uint32_t copies);

    std::vector<std::string> faults;
    // Flags that occurred, by enum wire_type; 0x100: a packet without flags.
    uint32_t flags[5] = {};
    uint64_t packets[5] = {};
    // Key by which the other side addresses this one; 0: none was seen yet.
    uint64_t key_of[2] = {0, 0};
    uint64_t asked_units = 0;

  private:
    struct Asked {
        uint64_t first, end, at;
    };
    struct Side {
        uint64_t packet = 0; // next DATA packet number
        uint32_t cntl = 0;   // last CNTL number
        uint64_t ack = 0, sent_end = 0;
        uint32_t posted = 0;
        bool has_cntl = false, has_data = false;
        std::deque<Asked> asked;
        std::unordered_set<uint64_t> positions; // sent so far
        uint32_t request = 0;
        std::unordered_map<uint32_t, uint32_t> unit_bytes; // of each request
        // pacing: the fullest window so far starts where bytes - rate * t was lowest
        Grant grant = {0, 0};
        __int128 bytes = 0, least = 0; // times 1e9
        uint64_t largest = 0;
    };

    void fault(const char *format, ...) __attribute__((format(printf, 2, 3)));
    static void split(Side &s, const wire_data &d, uint32_t parts);
    void data(uint32_t from, const uint8_t *p, uint32_t len, uint64_t now);
    void cntl(uint32_t from, const uint8_t *p, uint32_t len, uint64_t now);
    void first(uint32_t from, const uint8_t *p, uint32_t len);
    void pace(uint32_t from, uint64_t len, uint64_t now);
    void spans(uint32_t from, const wire_cntl &v, uint64_t now);
    void amount(uint32_t from, bool proves, uint32_t len);

    Rules rules;
    Side side[2];
    int opener = -1;
    uint64_t opener_key = 0;
    bool proven = false;
    uint64_t allowance = 0;
    // of the frame whose fate is not known yet
    uint64_t pending_bytes = 0;
    bool pending_proof = false;
};

#endif
