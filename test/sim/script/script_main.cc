// SPDX-License-Identifier: BSD-3-Clause
// Runs scripts, and prints one line of TAP for each.
#include <cstdio>
#include <cstring>
#include <exception>

#include "eal.hh"
#include "script.hh"

int main(int argc, char **argv)
{
    bool all = true;

    if (argc < 2 || std::strncmp(argv[1], "--", 2) == 0) {
        std::fprintf(stderr, "usage: script FILE...\n");
        return 2;
    }
    if (!eal_start(argv[0]))
        return 1;
    std::printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        const char *slash = std::strrchr(argv[i], '/');
        std::string fault;

        try {
            Script(argv[i]).run();
            if (!Pools::get().whole())
                fault = std::string(argv[i]) + ": mbufs leak";
        } catch (const std::exception &e) {
            fault = e.what();
        }
        std::printf("%s %d - %s\n", fault.empty() ? "ok" : "not ok", i,
                    slash != nullptr ? slash + 1 : argv[i]);
        if (!fault.empty())
            std::printf("# %s\n", fault.c_str());
        all = all && fault.empty();
    }
    return all ? 0 : 1;
}
