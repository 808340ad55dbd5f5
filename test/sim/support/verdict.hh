// SPDX-License-Identifier: BSD-3-Clause
// The faults that the oracles of a swarm's world have found.
#ifndef SLUICE_TEST_SIM_VERDICT_HH
#define SLUICE_TEST_SIM_VERDICT_HH

#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

// X(name, word, what it demands)
#define SWARM_ORACLES(X)                                                                           \
    X(BYTES, "bytes", "what an application received equals what the other one sent")               \
    X(PLACE, "place", "nothing is placed outside a posted buffer, nor into what was received")     \
    X(PACE, "pace", "in any window W under one grant: bytes <= rate * W + 2 * burst + one packet") \
    X(NAK, "nak", "a unit is asked for at most once a round trip, and only if it is missing")      \
    X(ORDER, "order", "operations complete once, in order, for a reason that can be seen")         \
    X(STUCK, "stuck", "no connection stands still for longer than silence can explain")            \
    X(MEMORY, "memory", "all mbufs, connections and memory come back")                             \
    X(WIRE, "wire", "frames parse; numbers go up; ack, posted and answers stay within bounds")

enum OracleId {
#define X(name, word, text) ORACLE_##name,
    SWARM_ORACLES(X)
#undef X
        ORACLES
};

inline const char *const kOracleWords[ORACLES] = {
#define X(name, word, text) word,
    SWARM_ORACLES(X)
#undef X
};

class Verdict
{
  public:
    static constexpr size_t kMax = 8;

    __attribute__((format(printf, 3, 4))) void fault(OracleId id, const char *format, ...)
    {
        char buf[400];
        va_list args;

        if (faults.size() >= kMax)
            return;
        va_start(args, format);
        std::vsnprintf(buf, sizeof buf, format, args);
        va_end(args);
        if (faults.empty())
            first = id;
        faults.push_back(std::string("[") + kOracleWords[id] + "] " + buf);
    }
    bool ok() const
    {
        return faults.empty();
    }

    OracleId first = ORACLES; // of the first fault; ORACLES: there is none
    std::vector<std::string> faults;
};

#endif
