// SPDX-License-Identifier: BSD-3-Clause
// The oracle for which a canary is meant must catch it within some seeds. Prints TAP.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "canary.hh"
#include "eal.hh"
#include "swarm.hh"

namespace
{

constexpr uint64_t kSeeds = 60;

struct Case {
    const char *name, *text;
    OracleId oracle;
};

const Case kCases[CANARIES] = {{"none", "nothing is wrong", ORACLES},
#define X(name, text, oracle) {#name, text, ORACLE_##oracle},
                               SWARM_CANARIES(X)
#undef X
};

struct Shared {
    OracleId spoke;
    uint64_t seed;
    char fault[300];
};

// Runs in a child, until an oracle finds a fault. Without a canary, no oracle may find one.
[[noreturn]] void hatch(Canary c, Shared *shared, const char *program)
{
    if (!eal_start(program))
        _exit(1);
    canary_set(c);
    shared->spoke = ORACLES;
    for (uint64_t seed = 1; seed <= (c == CANARY_NONE ? kSeeds / 4 : kSeeds); seed++) {
        Swarm s(seed, "");

        shared->seed = seed;
        if (s.run())
            continue;
        shared->spoke = s.verdict.first;
        std::snprintf(shared->fault, sizeof shared->fault, "%s", s.verdict.faults[0].c_str());
        break;
    }
    _exit(0);
}

} // namespace

int main(int argc, char **argv)
{
    void *memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Shared *shared = static_cast<Shared *>(memory);
    bool all = memory != MAP_FAILED;

    if (argc > 2 || !all) {
        std::fprintf(stderr, "usage: %s [CANARY]\n", argv[0]);
        return 2;
    }
    std::printf("1..%d\n", argc == 2 ? 1 : static_cast<int>(CANARIES));
    for (int c = 0; c < CANARIES; c++) {
        const Case &k = kCases[c];
        int status = -1;

        if (argc == 2 && std::strcmp(argv[1], k.name) != 0)
            continue;
        std::fflush(stdout);
        pid_t child = fork();

        if (child == 0)
            hatch(static_cast<Canary>(c), shared, argv[0]);
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 1;
        bool caught = status == 0 && shared->spoke == k.oracle;

        std::printf("%s %d - %s: %s (%s", caught ? "ok" : "not ok", c + 1, k.name, k.text,
                    k.oracle == ORACLES ? "nobody" : kOracleWords[k.oracle]);
        if (status != 0)
            std::printf("; the program died, status %d, seed %lu)\n", status, shared->seed);
        else if (shared->spoke == ORACLES)
            std::printf("; nobody spoke in %lu seeds)\n", shared->seed);
        else
            std::printf("; seed %lu: %s)\n", shared->seed, shared->fault);
        all = all && caught;
    }
    return all ? 0 : 1;
}
