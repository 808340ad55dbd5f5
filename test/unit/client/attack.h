/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that wants to hurt: random and nearly right submissions, ring indices and messages,
 * memory that changes while it is read. Same seed, same choices (threads and timing aside).
 */
#ifndef TEST_CLIENT_ATTACK_H
#define TEST_CLIENT_ATTACK_H

#include <cstdint>
#include <string>

struct AttackCount {
    uint64_t sessions = 0;
    uint64_t thrown_out = 0;  /* BYE, or hung up on */
    uint64_t submissions = 0; /* written */
    uint64_t completions = 0; /* seen */
    uint64_t messages = 0;
};

/* Attacks for this long, reconnecting when thrown out. False: the daemon cannot be reached any
 * more, or does not answer. */
bool attack(const std::string &path, double seconds, uint64_t seed, struct AttackCount *count);

#endif
