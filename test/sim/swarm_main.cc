// SPDX-License-Identifier: BSD-3-Clause
// The swarm as a program; see --help.
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.hh"
#include "swarm.hh"

namespace
{

constexpr int kFailuresShown = 5;

struct Options {
    uint64_t first = 1, last = 1;
    uint64_t minutes = 0;
    std::string pcap;
    bool digest = false, table = false, verbose = false, all_kinds = false;
};

// What a child tells its parent, whatever becomes of it.
struct Shared {
    Tally tally;
    uint64_t seed; // being run
    bool failed;
};

const char kHelp[] =
    "Usage: swarm [OPTIONS]\n"
    "Runs worlds of hosts that talk while things go wrong, and oracles that watch them. Exit "
    "status\n"
    "0: all is as it must be; 1: an oracle has spoken; 2: wrong usage.\n"
    "  --seed S           one world\n"
    "  --seeds FROM-TO    these worlds\n"
    "  --minutes M        fresh ones, from a seed that is the time of day, for so long\n"
    "  --pcap FILE        with --seed: captures all frames (pcapng, with time in ns and "
    "direction)\n"
    "  --digest           prints each world's digest, over every (time, host, frame)\n"
    "  --all-kinds        a kind of fault that never hit is a failure\n"
    "  --verbose          says what each world is\n"
    "  --list-faults      the kinds of faults\n"
    "  --list-oracles     what is watched\n";

double seconds()
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

[[noreturn]] void usage(const char *what)
{
    std::fprintf(stderr, "swarm: %s; swarm --help lists the options\n", what);
    std::exit(2);
}

uint64_t number(const char *text, const char **end)
{
    char *stop;

    errno = 0;
    uint64_t v = std::strtoull(text, &stop, 0);

    if (stop == text || errno != 0 || *text == '-')
        usage("that is no number");
    *end = stop;
    return v;
}

void list_faults()
{
    for (const FaultName &f : kFaultNames)
        std::printf("%-15s %s\n", f.word, f.text);
}

void list_oracles()
{
#define X(name, word, text) std::printf("%-7s %s\n", word, text);
    SWARM_ORACLES(X)
#undef X
}

Options parse(int argc, char **argv)
{
    Options o;

    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        const char *end = "";

        if (a == "--help") {
            std::fputs(kHelp, stdout);
            std::exit(0);
        } else if (a == "--list-faults" || a == "--list-oracles") {
            a == "--list-faults" ? list_faults() : list_oracles();
            std::exit(0);
        } else if (a == "--digest") {
            o.digest = true;
        } else if (a == "--verbose") {
            o.verbose = true;
        } else if (a == "--all-kinds") {
            o.all_kinds = true;
        } else if (i + 1 == argc) {
            usage("an option is unknown, or its value is missing");
        } else if (a == "--seed") {
            o.first = o.last = number(argv[++i], &end);
        } else if (a == "--seeds") {
            o.first = number(argv[++i], &end);
            if (*end != '-')
                usage("--seeds wants FROM-TO");
            o.last = number(end + 1, &end);
        } else if (a == "--minutes") {
            o.minutes = number(argv[++i], &end);
            o.first = static_cast<uint64_t>(time(nullptr)) * 1000000;
            o.last = UINT64_MAX;
        } else if (a == "--pcap") {
            o.pcap = argv[++i];
        } else {
            usage("an option is unknown");
        }
        if (*end != '\0' || o.last < o.first)
            usage("that is no number, or no range of them");
    }
    if (!o.pcap.empty() && o.first != o.last)
        usage("--pcap wants --seed");
    return o;
}

void report(const Swarm &s, const char *program)
{
    std::printf("FAILED seed %lu: %s\n", s.plan.seed, s.plan.about().c_str());
    for (const std::string &f : s.verdict.faults)
        std::printf("  %s\n", f.c_str());
    std::printf("  replay: %s --seed %lu --pcap %lu.pcapng\n", program, s.plan.seed, s.plan.seed);
}

// Runs seeds from o.first on, until one fails. In a child, with an EAL of its own: what has failed
// is not tidied up.
void run_seeds(const Options &o, double until, Shared *shared, const char *program)
{
    if (!eal_start(program))
        _exit(1);
    for (uint64_t seed = o.first; seed <= o.last; seed++) {
        shared->seed = seed;
        if (until != 0 && seconds() > until)
            break;
        double start = seconds();
        Swarm s(seed, o.pcap);

        if (o.verbose)
            std::printf("seed %lu: %s\n", seed, s.plan.about().c_str());
        bool ok = s.run();

        s.count(&shared->tally);
        if (o.digest)
            std::printf("%lu %016lx\n", seed, s.digest);
        if (o.verbose)
            std::printf("  %.3f s\n", seconds() - start);
        if (!ok) {
            report(s, program);
            shared->failed = true;
            break;
        }
    }
    std::fflush(stdout);
    if (shared->failed)
        _exit(0);
    std::exit(0); // coverage is written at the end
}

// False if a kind never hit.
bool print_table(const Tally &t, double took)
{
    bool all = true;

    std::printf("\n%-15s %7s %7s %12s\n", "fault", "seeds", "hit in", "times");
    for (int f = 0; f < FAULTS; f++) {
        std::printf("%-15s %7lu %7lu %12lu %s%s\n", kFaultNames[f].word, t.on[f], t.hit[f],
                    t.hits[f], kFaultNames[f].unit, t.hits[f] == 0 ? "  NEVER HIT" : "");
        all = all && t.hits[f] > 0;
    }
    std::printf("\n%lu seeds, %lu packets (%lu units, %lu of them repeated), %lu connections, "
                "%lu of them ended early on one side\n",
                t.seeds, t.packets, t.units, t.repeats, t.connections, t.failed);
    std::printf("%lu MB compared, %lu units seen placed, %lu duplicates seen left alone, %lu units "
                "paced, %lu spans asked for\n",
                t.bytes / 1000000, t.placed, t.again, t.paced, t.naks);
    std::printf("%.0f s of virtual time in %.1f s\n", double(t.virtual_ns) / 1e9, took);
    return all;
}

} // namespace

int main(int argc, char **argv)
{
    Options o = parse(argc, argv);
    double start = seconds(), until = o.minutes != 0 ? start + 60.0 * double(o.minutes) : 0;
    void *memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Shared *shared = static_cast<Shared *>(memory);
    int failures = 0;

    if (memory == MAP_FAILED)
        return 1;
    while (failures < kFailuresShown && o.first <= o.last) {
        int status;
        pid_t child;

        shared->failed = false;
        std::fflush(stdout);
        child = fork();
        if (child == 0)
            run_seeds(o, until, shared, argv[0]);
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 1;
        if (!shared->failed && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        if (!shared->failed)
            std::printf("FAILED seed %lu: the program died (status %d)\n"
                        "  replay: %s --seed %lu --pcap %lu.pcapng\n",
                        shared->seed, status, argv[0], shared->seed, shared->seed);
        failures++;
        if (shared->seed == UINT64_MAX)
            break;
        o.first = shared->seed + 1;
    }
    bool all = print_table(shared->tally, seconds() - start);

    std::printf("%d failed\n", failures);
    return failures > 0 || (o.all_kinds && !all) ? 1 : 0;
}
