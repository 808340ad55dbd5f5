/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile SOCKET SECONDS [SEED]: attacks a live daemon as a client (see unit/client/attack.h). Exit
 * code 0: the daemon still answers; 1: it does not; 2: usage. Prints one line of counts.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "unit/client/attack.h"
#include "unit/client/raw_client.h"

int main(int argc, char **argv)
{
    struct AttackCount count;
    uint64_t seed;
    bool ok;

    if (argc < 3 || argc > 4 || atof(argv[2]) <= 0) {
        fprintf(stderr, "usage: hostile SOCKET SECONDS [SEED]\n");
        return 2;
    }
    seed = argc == 4 ? strtoull(argv[3], nullptr, 0) : std::random_device()();
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    ok = attack(argv[1], atof(argv[2]), seed, &count);
    printf("%" PRIu64 " sessions, %" PRIu64 " thrown out or left, %" PRIu64 " submissions, %" PRIu64
           " completions, %" PRIu64 " messages\n",
           count.sessions, count.thrown_out, count.submissions, count.completions, count.messages);
    if (!ok)
        fprintf(stderr, "the daemon at %s does not answer any more\n", argv[1]);
    return ok ? 0 : 1;
}
