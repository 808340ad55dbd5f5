// SPDX-License-Identifier: BSD-3-Clause
// Deliberate bugs, one for each fault that an oracle must notice. The linker (--wrap) plants them
// around functions of the product, whose objects are those of all other programs. Without
// canary_set() they do nothing.
#ifndef SLUICE_TEST_SIM_CANARY_HH
#define SLUICE_TEST_SIM_CANARY_HH

#include "verdict.hh"

// X(name, the bug, the oracle that must notice it)
#define SWARM_CANARIES(X)                                                                          \
    X(COPY, "a byte of a placed unit is wrong now and then", BYTES)                                \
    X(CHECKSUM, "wrong checksums are taken for right ones", BYTES)                                 \
    X(BEHIND, "a request's last unit is placed with one byte more", PLACE)                         \
    X(AGAIN, "a duplicate is placed again, though its bytes are the same", PLACE)                  \
    X(LATE, "a duplicate of a completed request is placed again", PLACE)                           \
    X(CREDIT, "bursts are three times as long as granted", PACE)                                   \
    X(GRANT, "grants are taken for a quarter more than they are", PACE)                            \
    X(ASK, "gaps are asked for again after an eighth of a round trip", NAK)                        \
    X(TWICE, "an operation completes twice now and then", ORDER)                                   \
    X(GIVE_UP, "a connection fails for silence after a moment of it", ORDER)                       \
    X(SILENT, "some unit is never sent", STUCK)                                                    \
    X(FORGET, "a connection that is over is never free", STUCK)                                    \
    X(LEAK_MBUF, "an mbuf is not freed now and then", MEMORY)                                      \
    X(LEAK_HEAP, "memory of a host is not freed", MEMORY)                                          \
    X(NUMBER, "a packet number is used twice now and then", WIRE)                                  \
    X(TAKE_BACK, "an ACK goes back now and then", WIRE)                                            \
    X(AMPLIFY, "who has shown nothing is told more than it said", WIRE)

enum Canary {
    CANARY_NONE,
#define X(name, text, oracle) CANARY_##name,
    SWARM_CANARIES(X)
#undef X
        CANARIES
};

void canary_set(Canary c);

#endif
