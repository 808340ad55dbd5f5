/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile client: random and nearly right submissions, ring indices and messages, and memory that
 * changes while the daemon reads it. The same seed makes the same choices (threads and timing
 * aside).
 */
#ifndef TEST_CLIENT_ATTACK_H
#define TEST_CLIENT_ATTACK_H

#include <cstdint>
#include <string>

struct AttackCount {
    uint64_t sessions = 0;
    uint64_t thrown_out = 0;  /* by BYE, or by a closed socket */
    uint64_t submissions = 0; /* written */
    uint64_t completions = 0; /* seen */
    uint64_t messages = 0;
};

/* Attacks for this long, and reconnects when thrown out. False: the daemon can no longer be
 * reached, or does not answer. */
bool attack(const std::string &path, double seconds, uint64_t seed, struct AttackCount *count);

#endif
