// SPDX-License-Identifier: BSD-3-Clause
// The swarm as a program; see --help.
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.hh"
#include "swarm.hh"

namespace
{

constexpr int kFailuresShown = 5;
constexpr uint64_t kJobsMax = 256;

struct Options {
    uint64_t first = 1, last = 1;
    uint64_t minutes = 0;
    uint64_t jobs = 1;
    std::string pcap;
    bool digest = false, table = false, verbose = false, all_kinds = false;
};

// A child, and its state, which the parent can read even if the child dies.
struct Job {
    pid_t pid;
    uint64_t seed; // that it runs
    bool failed;
};

struct Shared {
    std::atomic<uint64_t> next; // the next seed to begin
    std::atomic<bool> all_begun;
    pthread_mutex_t lock; // of tally
    Tally tally;
    Job jobs[kJobsMax];
};

const char kHelp[] =
    "Usage: swarm [OPTIONS]\n"
    "Runs worlds of hosts that talk while things go wrong, and oracles that watch them. Exit "
    "status\n"
    "0: all is as it must be; 1: an oracle has spoken; 2: wrong usage.\n"
    "  --seed S           one world\n"
    "  --seeds FROM-TO    these worlds\n"
    "  --minutes M        fresh ones, from a seed that is the time of day, for so long\n"
    "  --jobs N           so many processes share the worlds\n"
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
        } else if (a == "--jobs") {
            o.jobs = number(argv[++i], &end);
            if (o.jobs == 0 || o.jobs > kJobsMax)
                usage("--jobs wants 1 to 256");
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

// Runs seeds until there are none, or one fails. It runs in a child with an EAL of its own, since a
// failed world is not cleaned up.
void run_seeds(const Options &o, double until, Shared *shared, Job *job, const char *program)
{
    if (!eal_start(program))
        _exit(1);
    while (!shared->all_begun) {
        uint64_t seed = job->seed = shared->next++;

        if (seed >= o.last || (until != 0 && seconds() > until))
            shared->all_begun = true;
        if (seed > o.last)
            break;
        double start = seconds();
        Swarm s(seed, o.pcap);

        if (o.verbose)
            std::printf("seed %lu: %s\n", seed, s.plan.about().c_str());
        bool ok = s.run();

        pthread_mutex_lock(&shared->lock);
        s.count(&shared->tally);
        pthread_mutex_unlock(&shared->lock);
        if (o.digest)
            std::printf("%lu %016lx\n", seed, s.digest);
        if (o.verbose)
            std::printf("  %.3f s\n", seconds() - start);
        if (!ok) {
            report(s, program);
            job->failed = true;
        }
        std::fflush(stdout);
        if (!ok)
            _exit(0);
    }
    std::exit(0); // coverage is written at the end
}

// Starts jobs, and starts those again that a failure ended. Returns the failures, or -1 on an
// error.
int run_jobs(const Options &o, double until, Shared *shared, const char *program)
{
    uint64_t running = 0;
    int failures = 0;

    for (uint64_t i = 0; i < o.jobs; i++)
        shared->jobs[i] = {};
    for (;;) {
        for (Job *job = shared->jobs; job < shared->jobs + o.jobs; job++) {
            if (job->pid != 0 || shared->all_begun)
                continue;
            *job = {};
            pid_t pid = fork();

            if (pid == 0)
                run_seeds(o, until, shared, job, program);
            if (pid < 0)
                return -1;
            job->pid = pid;
            running++;
        }
        if (running == 0)
            return failures;
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        Job *job = shared->jobs;

        while (job < shared->jobs + o.jobs && job->pid != pid)
            job++;
        if (job == shared->jobs + o.jobs)
            return -1;
        bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;

        if (died && !job->failed)
            std::printf("FAILED seed %lu: the program died (status %d)\n"
                        "  replay: %s --seed %lu --pcap %lu.pcapng\n",
                        job->seed, status, program, job->seed, job->seed);
        std::fflush(stdout);
        failures += died || job->failed ? 1 : 0;
        if (failures >= kFailuresShown)
            shared->all_begun = true;
        job->pid = 0;
        running--;
    }
}

// Returns false if a kind of fault never hit.
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
    pthread_mutexattr_t shared_lock;

    if (memory == MAP_FAILED)
        return 1;
    Shared *shared = new (memory) Shared();

    pthread_mutexattr_init(&shared_lock);
    pthread_mutexattr_setpshared(&shared_lock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &shared_lock);
    shared->next = o.first;
    int failures = run_jobs(o, until, shared, argv[0]);

    if (failures < 0) {
        std::fprintf(stderr, "swarm: no process for a job: %s\n", std::strerror(errno));
        return 1;
    }
    bool all = print_table(shared->tally, seconds() - start);

    std::printf("%d failed\n", failures);
    return failures > 0 || (o.all_kinds && !all) ? 1 : 0;
}
