// SPDX-License-Identifier: BSD-3-Clause
// The kinds of faults that the swarm knows, and how often each has hit.
#ifndef SLUICE_TEST_SIM_FAULT_HH
#define SLUICE_TEST_SIM_FAULT_HH

#include <cstdint>

// X(name, word, what it does, what is counted as a hit)
// clang-format off
#define SWARM_FAULTS(X)                                                                            \
    X(LOSS,          "loss",           "frames are lost one by one",              "frames")        \
    X(LOSS_BURSTS,   "loss in bursts", "frames are lost in runs",                 "frames")        \
    X(DUPLICATE,     "duplicate",      "frames come twice",                       "frames")        \
    X(DISPLACE,      "displace",       "frames come late, out of order",          "frames")        \
    X(CORRUPT,       "corrupt",        "bits are flipped",                        "frames")        \
    X(QUEUE,         "full queue",     "a slow link drops what does not fit",     "frames")        \
    X(AQM,           "codel, red",     "a queue drops before it is full",         "frames")        \
    X(POLICE,        "policer",        "a contract drops what exceeds it",        "frames")        \
    X(SLOT,          "slots",          "a medium lets frames go in turns",        "frames")        \
    X(RECEIVER,      "slow receiver",  "a small buffer runs over, and stalls",    "frames")        \
    X(CUT,           "cable out",      "a cable carries nothing for a while",     "frames")        \
    X(SILENCE,       "silence",        "a cable is out until peers give up",      "connections")   \
    X(POLL_GAPS,     "poll gaps",      "polls come late by random times",         "polls")         \
    X(STALL,         "worker stall",   "a worker does not run for long",          "spells")        \
    X(RING,          "ring overrun",   "the RX ring is short",                    "frames")        \
    X(RX_NO_MBUF,    "no RX mbufs",    "the port has no memory for frames",       "frames")        \
    X(TX_REFUSED,    "TX refused",     "the port takes no frames",                "polls")         \
    X(TX_GIVEN_UP,   "TX given up",    "frames refused too long are dropped",     "frames")        \
    X(HEADS_OUT,     "no heads",       "the pool of packet heads is empty",       "allocations")   \
    X(BODIES_OUT,    "no bodies",      "the pool for payload is empty",           "allocations")   \
    X(CONTROL_STALL, "control stall",  "the control core does not run for long",  "spells")        \
    X(NOISE,         "noise",          "forged, flipped and old frames come",     "frames")        \
    X(ROUTER,        "router",         "routers lower rates, by RCNTL and CNTL",  "packets")       \
    X(LATE_POST,     "late buffers",   "units come before their buffers",         "units")         \
    X(SHORT_BUFFER,  "short buffer",   "a buffer is shorter than its request",    "requests")      \
    X(FEW_GAPS,      "few gaps",       "few runs of missing units are kept",      "units")         \
    X(UNEQUAL_MTU,   "unequal MTU",    "hosts of a connection have other MTUs",   "connections")   \
    X(EARLY_OFF,     "early off",      "hosts take no early data",                "units")         \
    X(ABORT,         "abort",          "an application gives up in the middle",   "connections")   \
    X(NOBODY,        "nobody listens", "the service is not known",                "connections")   \
    X(NO_ACCEPT,     "nobody accepts", "the service is known, nobody waits yet",  "FIRST packets") \
    X(COOKIE,        "cookie",         "many open at once, and must show cookies","FIRST packets")
// clang-format on

enum Fault {
#define X(name, word, text, unit) FAULT_##name,
    SWARM_FAULTS(X)
#undef X
        FAULTS
};

struct FaultName {
    const char *word, *text, *unit;
};

inline const FaultName kFaultNames[FAULTS] = {
#define X(name, word, text, unit) {word, text, unit},
    SWARM_FAULTS(X)
#undef X
};

// Sums over seeds. They are plain numbers, since processes share this memory.
struct Tally {
    uint64_t seeds;
    uint64_t on[FAULTS];     // seeds that had the kind
    uint64_t hit[FAULTS];    // of these, seeds in which it hit
    uint64_t hits[FAULTS];   // how often
    uint64_t packets;        // frames that ports took
    uint64_t units, repeats; // DATA packets
    uint64_t bytes;          // received by applications, and compared
    uint64_t connections, failed;
    uint64_t naks, placed, paced, again; // that oracles checked
    uint64_t virtual_ns;
};

#endif
