// SPDX-License-Identifier: BSD-3-Clause
// Runs roads that are drawn at random (road_draw.hh), each in a world of its own, and judges how
// our hosts do on them (road_judge.hh).
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <stdexcept>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "eal.hh"
#include "road_draw.hh"
#include "road_issue.hh"
#include "road_judge.hh"
#include "text.hh"

namespace
{

constexpr double kPackets = 1.5e6;
constexpr unsigned kCpuSeconds = 300; // of one road

struct Options {
    std::string only, replay, trace;
    uint64_t seed = 1;
    uint32_t count = 50;
    unsigned jobs = 1;
    double packets = kPackets;
    bool list = false, issue = false;
};

struct Job {
    uint32_t number;  // from 0
    std::string name; // its features, or the name of an issue
    Road road;
    FILE *out;
};

// Results of all roads that ran.
struct Tally {
    struct Of {
        int holds = 0, all = 0;
    };
    std::map<std::string, Of> bars, features;
    std::vector<double> used, queue, of_bar, jain;
    int roads = 0, held = 0, broken = 0;
};

void usage(FILE *to)
{
    std::fprintf(
        to,
        "Usage: roads [OPTIONS]\n"
        "Roads drawn at random, and how hosts do on them that were told nothing.\n"
        "  --count N        so many roads (50)\n"
        "  --seed S         1 unless told; the same seed is the same roads\n"
        "  --jobs J         so many processes\n"
        "  --issue          instead of drawn ones, those that were known to fail\n"
        "  --only REGEX     of their features, e.g. 'jitter.*cubic'; of an issue's names\n"
        "  --packets N      on a road's link at most (%.0f)\n"
        "  --replay LINE    this one, as it was printed\n"
        "  --trace FILE     what happened on the last road, as CSV\n"
        "  --list           prints the roads and runs none\n"
        "Exit status: 0 all roads hold their bars, 1 one does not, 2 one did not end, or wrong\n"
        "options.\n",
        kPackets);
}

double number(const char *s, double least)
{
    char *end;
    double x = std::strtod(s, &end);

    if (*end != '\0' || end == s || !(x >= least)) {
        std::fprintf(stderr, "roads: \"%s\" is no number from %g on\n", s, least);
        std::exit(2);
    }
    return x;
}

Options parse(int argc, char **argv)
{
    Options o;

    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : nullptr;

        if (a == "--list" || a == "--issue") {
            (a == "--list" ? o.list : o.issue) = true;
            continue;
        }
        if (a == "--help" || value == nullptr) {
            usage(a == "--help" ? stdout : stderr);
            std::exit(a == "--help" ? 0 : 2);
        }
        i++;
        if (a == "--count")
            o.count = static_cast<uint32_t>(number(value, 1));
        else if (a == "--seed")
            o.seed = static_cast<uint64_t>(number(value, 0));
        else if (a == "--jobs")
            o.jobs = static_cast<unsigned>(number(value, 1));
        else if (a == "--packets")
            o.packets = number(value, 1000);
        else if (a == "--only")
            o.only = value;
        else if (a == "--replay")
            o.replay = value;
        else if (a == "--trace")
            o.trace = value;
        else {
            usage(stderr);
            std::exit(2);
        }
    }
    return o;
}

std::string joined(const std::vector<std::string> &words)
{
    std::string s;

    for (const std::string &w : words)
        s += (s.empty() ? "" : " ") + w;
    return s;
}

void write_trace(const std::string &path, const RoadPlan &plan, const RoadRecord &record)
{
    FILE *f = std::fopen(path.c_str(), "w");

    if (f == nullptr)
        throw std::runtime_error("cannot write " + path);
    std::fprintf(
        f, "at_ms,left_bps,queue_bytes,dropped_bytes,tcp_bytes,flow,wire_bytes,grant_bps,why\n");
    for (const RoadSample &s : record.samples)
        for (size_t i = 0; i < s.flows.size(); i++)
            std::fprintf(f, "%.6f,%.0f,%.0f,%.0f,%.0f,%zu,%.0f,%.0f,%s\n", s.at_ns / 1e6,
                         plan.min_left_bps(s.at_ns, s.at_ns + 1), s.queue_bytes, s.dropped_bytes,
                         s.tcp_bytes, i, s.flows[i].wire_bytes, 8 * s.flows[i].grant_Bps,
                         host_reason_name(s.flows[i].why));
    if (std::fclose(f) != 0)
        throw std::runtime_error("cannot write " + path);
}

// Runs one road, in a process of its own; the results go into job.out.
void drive(const Job &job, const Options &o)
{
    RoadPlan plan = road_plan(job.road, o.packets);
    BulkPools pools = road_pools(job.road);
    double alone = 0;

    if (job.road.tcp != ROAD_NO_TCP) {
        RoadRun only_tcp(job.road, plan, pools, false);

        alone = road_tcp_share(job.road, plan, only_tcp.run());
    }
    RoadRun run(job.road, plan, pools);
    const RoadRecord &record = run.run();
    RoadOutcome out = road_judge(job.road, plan, record, alone);

    for (const RoadVerdict &v : out.verdicts)
        std::fprintf(job.out, "bar %s %s %.9g %.9g %d\n", v.bar.c_str(), v.phase.c_str(), v.value,
                     v.limit, v.at_most);
    std::fprintf(job.out, "figures %.9g %.9g %.9g %.9g\n", out.figures.used, out.figures.queue,
                 out.figures.queue_of_bar, out.figures.jain);
    if (!o.trace.empty())
        write_trace(o.trace, plan, record);
}

void begin(const Job &job, const Options &o, const char *program)
{
    rlimit cpu = {kCpuSeconds, kCpuSeconds + 1};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &cpu);
    try {
        if (!eal_start(program, "6144"))
            _exit(2);
        drive(job, o);
        std::fflush(job.out);
    } catch (const std::exception &e) {
        std::fprintf(job.out, "error %s\n", e.what());
        std::fflush(job.out);
        _exit(2);
    }
    _exit(0);
}

// Reads the output of a road's process. Prints one line, and the option that replays the road if it
// failed.
void end(const Job &job, int status, Tally &t)
{
    std::vector<std::string> features = job.road.features();
    std::string failed;
    char line[512], bar[64], phase[64], what[400];
    double value, limit, used = 0, queue = 0, of_bar = 0, jain = -1;
    int at_most;

    std::rewind(job.out);
    while (std::fgets(line, sizeof line, job.out) != nullptr) {
        if (std::sscanf(line, "bar %63s %63s %lf %lf %d", bar, phase, &value, &limit, &at_most) ==
            5) {
            bool holds = at_most ? value <= limit : value >= limit;
            std::string name = bar;

            t.bars[name].all++;
            t.bars[name].holds += holds;
            if (!holds)
                failed +=
                    text("  %s%s%s %.4g (bar %.4g)", bar, strcmp(phase, "all") == 0 ? "" : "@",
                         strcmp(phase, "all") == 0 ? "" : phase, value, limit);
        } else if (std::sscanf(line, "figures %lf %lf %lf %lf", &used, &queue, &of_bar, &jain) ==
                   4) {
            t.used.push_back(used);
            t.queue.push_back(queue);
            t.of_bar.push_back(of_bar);
            if (jain >= 0)
                t.jain.push_back(jain);
        } else if (std::sscanf(line, "error %399[^\n]", what) == 1) {
            failed += text("  error: %.200s", what);
        }
    }
    std::fclose(job.out);
    bool broken = status != 0;

    if (broken) {
        failed += WIFSIGNALED(status) ? text("  ended with signal %d", WTERMSIG(status))
                                      : text("  ended with status %d", WEXITSTATUS(status));
        t.broken++;
    }
    t.roads++;
    t.held += failed.empty();
    for (const std::string &f : features) {
        t.features[f].all++;
        t.features[f].holds += failed.empty();
    }
    std::printf("%4u %-6s %-32s used %5.1f %%  queue %6.3f BDP", job.number,
                broken           ? "broken"
                : failed.empty() ? "holds"
                                 : "NO",
                job.name.c_str(), 100 * used, queue);
    if (jain >= 0)
        std::printf("  Jain %.3f", jain);
    if (!failed.empty())
        std::printf("\n          %s\n          --replay \"%s\"", failed.c_str() + 2,
                    road_text(job.road).c_str());
    std::printf("\n");
    std::fflush(stdout);
}

double median(std::vector<double> v)
{
    if (v.empty())
        return 0;
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

void print(const Tally &t)
{
    std::printf("\n%-16s %6s %6s\n", "bar", "holds", "of");
    for (const auto &[name, of] : t.bars)
        std::printf("%-16s %6d %6d\n", name.c_str(), of.holds, of.all);
    std::printf("\n%-16s %6s %6s\n", "feature", "holds", "of");
    for (const auto &[name, of] : t.features)
        std::printf("%-16s %6d %6d\n", name.c_str(), of.holds, of.all);
    std::printf("\nmedians: used %.1f %%, queue %.3f bandwidth-delay products (%.2f of the bar), "
                "Jain %.3f\n"
                "%d roads, %d hold all their bars (%.1f %%), %d did not end\n",
                100 * median(t.used), median(t.queue), median(t.of_bar), median(t.jain), t.roads,
                t.held, t.roads > 0 ? 100.0 * t.held / t.roads : 0, t.broken);
}

std::vector<Job> jobs_of(const Options &o)
{
    std::vector<Job> jobs;
    std::regex only(o.only);

    auto add = [&](uint32_t number, const std::string &name, const Road &r) {
        if (std::regex_search(name, only))
            jobs.push_back({number, name, r, nullptr});
    };

    if (!o.replay.empty()) {
        Road r = road_parse(o.replay);

        return {{0, joined(r.features()), r, nullptr}};
    }
    for (uint32_t i = 0; o.issue && kRoadIssues[i].name != nullptr; i++) {
        Road r = road_parse(kRoadIssues[i].line);

        r.seed = static_cast<double>(o.seed);
        add(i, kRoadIssues[i].name, r);
    }
    for (uint32_t i = 0; !o.issue && i < o.count; i++) {
        Road r = road_draw(o.seed, i, o.packets);

        add(i, joined(r.features()), r);
    }
    return jobs;
}

// Prints the results in the order of roads, whatever the order in which they end.
void run(std::vector<Job> &jobs, const Options &o, const char *program, Tally &t)
{
    std::map<pid_t, size_t> running;
    std::vector<int> status(jobs.size(), -1);
    size_t begun = 0, told = 0;

    while (told < jobs.size()) {
        for (; begun < jobs.size() && running.size() < o.jobs; begun++) {
            jobs[begun].out = std::tmpfile();
            if (jobs[begun].out == nullptr)
                throw std::runtime_error("no temporary file");
            std::fflush(stdout);
            pid_t child = fork();

            if (child == 0)
                begin(jobs[begun], o, program);
            running[child] = begun;
        }
        int s;
        pid_t child = wait(&s);

        status[running.at(child)] = s;
        running.erase(child);
        for (; told < jobs.size() && status[told] >= 0; told++)
            end(jobs[told], status[told], t);
    }
}

} // namespace

int main(int argc, char **argv)
{
    Options o = parse(argc, argv);
    Tally t;

    try {
        std::vector<Job> jobs = jobs_of(o);

        std::printf("seed %lu\n", o.seed);
        if (o.list) {
            for (const Job &j : jobs)
                std::printf("%4u %s: %s\n", j.number, j.name.c_str(), road_text(j.road).c_str());
            return 0;
        }
        run(jobs, o, argv[0], t);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "roads: %s\n", e.what());
        return 2;
    }
    print(t);
    return t.roads == 0 || t.broken > 0 ? 2 : t.held < t.roads ? 1 : 0;
}
