/* SPDX-License-Identifier: BSD-3-Clause */
/* What limits a transfer: where the time of one of its ends goes. */
#include "sluice/report/limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/text.h"
#include "sluice/loop.h"

#define SMOOTH_NS 1000000000.0

static void limits_read(const struct limits *l, struct limits_clock *out)
{
    char text[96];
    ssize_t n = l->ready_file < 0 ? -1 : pread(l->ready_file, text, sizeof text - 1, 0);
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    *out = (struct limits_clock){
        .wall_ns = loop_now(),
        .cpu_ns = (uint64_t)cpu.tv_sec * CLOCK_NS_PER_S + (uint64_t)cpu.tv_nsec,
        .storage_ns = storage_cpu_ns(l->storage),
    };
    if (n <= 0)
        return;
    text[n] = '\0';
    if (sscanf(text, "%*u %" SCNu64, &out->ready_ns) != 1)
        out->ready_ns = 0;
}

void limits_open(struct limits *l, bool sending, uint64_t flight_bytes)
{
    memset(l, 0, sizeof *l);
    l->sending = sending;
    l->flight_bytes = flight_bytes;
    l->ready_file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    limits_read(l, &l->last);
}

void limits_close(struct limits *l)
{
    if (l->ready_file >= 0)
        close(l->ready_file);
    l->ready_file = -1;
}

void limits_waited(struct limits *l, enum limits_wait what, uint64_t ns)
{
    l->wait_ns[what] += ns;
}

uint64_t limits_next(const struct limits *l)
{
    return l->last.wall_ns + LIMITS_INTERVAL_NS;
}

/* ---- dividing an interval ------------------------------------------------------------------ */

/* What a rate of used_Bps means, if grant_Bps was granted for the reason `why`. */
static enum limit limit_of(const struct limits *l, double used_Bps, uint64_t grant_Bps,
                           const char *why)
{
    static const struct {
        const char *why;
        enum limit limit;
    } reasons[] = {
        {"capacity", LIMIT_GRANT}, {"occupancy", LIMIT_GRANT}, {"ceiling", LIMIT_GRANT},
        {"minimum", LIMIT_GRANT},  {"queue", LIMIT_PATH},      {"competing", LIMIT_PATH},
        {"loss", LIMIT_PATH},      {"ecn", LIMIT_PATH},
    };
    unsigned int i;

    if (used_Bps < 0.75 * (double)grant_Bps)
        return l->sending ? LIMIT_DAEMON : LIMIT_PEER;
    /* the other end may have a lower limit of its own */
    if (strcmp(why, "limit") == 0)
        return l->own_Bps != 0 && grant_Bps >= l->own_Bps ? LIMIT_OPTION : LIMIT_GRANT;
    for (i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(why, reasons[i].why) == 0)
            return reasons[i].limit;
    }
    return LIMIT_START;
}

static double rate(uint64_t bytes, double ns)
{
    return ns > 0 ? (double)bytes * 1e9 / ns : 0;
}

/* Divides the time in which a sender waited for its daemon. wall_ns: of the interval. */
static void divide_flight(const struct limits *l, double wait_ns, bool answer, double wall_ns,
                          const struct sluice_stats *s, double part[LIMITS])
{
    double n = l->streams > 1 ? l->streams : 1; /* the mean of the connections' times */
    double app = (double)(s->tx_app_limited_ns - l->stats.tx_app_limited_ns) / n;
    double peer = (double)(s->tx_peer_limited_ns - l->stats.tx_peer_limited_ns) / n;
    double paced = (double)(s->tx_rate_limited_ns - l->stats.tx_rate_limited_ns) / n;
    uint64_t bytes = s->tx_bytes - l->stats.tx_bytes;
    double pipe_ns = bytes == 0 ? 0 : (double)l->flight_bytes / rate(bytes, wall_ns) * 1e9;
    enum limit confirm = (double)s->rtt_ns > pipe_ns / 2 ? LIMIT_ROUND : LIMIT_DAEMON;

    if (app + peer + paced <= 0) {
        part[LIMIT_DAEMON] += wait_ns; /* it has not looked at the connection at all */
        return;
    }
    /* While this end worked, all that it had submitted may have been sent. */
    app = app > wall_ns - wait_ns ? app - (wall_ns - wait_ns) : 0;
    if (app + peer + paced <= 0)
        app = 1;
    wait_ns /= app + peer + paced;
    part[answer ? LIMIT_PEER : confirm] += wait_ns * app;
    part[LIMIT_PEER] += wait_ns * peer;
    part[limit_of(l, rate(bytes, paced), s->tx_rate_Bps, s->tx_why)] += wait_ns * paced;
}

void limits_take(struct limits *l, const struct limits_clock *now, const struct sluice_stats *stats)
{
    const uint64_t *waits = l->wait_ns;
    double wall = (double)(now->wall_ns - l->last.wall_ns), part[LIMITS] = {0};
    double wait = (double)(waits[LIMITS_FLIGHT] + waits[LIMITS_INPUT] + waits[LIMITS_FILES] +
                           waits[LIMITS_ANSWER]);
    double storage = (double)(now->storage_ns - l->last.storage_ns), files;
    double cpu = (double)(now->cpu_ns - l->last.cpu_ns);
    double ready = (double)(now->ready_ns - l->last.ready_ns);
    double worked = wall > wait ? wall - wait : 0, keep = wall < SMOOTH_NS ? wall / SMOOTH_NS : 1;
    uint64_t bytes = stats->rx_bytes - l->stats.rx_bytes;
    double blocked, late, slept;
    unsigned int i;

    part[LIMIT_PROCESSOR] = cpu < worked ? cpu : worked;
    blocked = worked - part[LIMIT_PROCESSOR];
    part[LIMIT_DISK] = blocked > ready ? blocked - ready : 0;
    late = ready > blocked ? ready - blocked : 0;
    slept = wait > late ? (wait - late) / wait : 0; /* the part of `wait` that was no lateness */
    part[LIMIT_BUSY] = blocked - part[LIMIT_DISK] + wait * (1 - slept);
    files = slept * (double)waits[LIMITS_FILES];
    storage = storage < files ? storage : files;
    part[LIMIT_PROCESSOR] += storage;
    part[LIMIT_DISK] += files - storage;
    if (l->stream) {
        part[LIMIT_OUTPUT] = part[LIMIT_DISK];
        part[LIMIT_DISK] = 0;
    }
    part[LIMIT_INPUT] = slept * (double)waits[LIMITS_INPUT];
    if (l->sending) {
        divide_flight(l, slept * (double)waits[LIMITS_FLIGHT], false, wall, stats, part);
        divide_flight(l, slept * (double)waits[LIMITS_ANSWER], true, wall, stats, part);
    } else {
        part[limit_of(l, rate(bytes, wall), stats->rx_rate_Bps, stats->rx_why)] +=
            slept * (double)waits[LIMITS_FLIGHT];
    }
    for (i = 0; i < LIMITS; i++) {
        l->ns[i] += (uint64_t)part[i];
        l->recent[i] = (uint64_t)((1 - keep) * (double)l->recent[i] + keep * part[i]);
    }
    memset(l->wait_ns, 0, sizeof l->wait_ns);
    l->last = *now;
    l->stats = *stats;
}

void limits_sample(struct limits *l, const struct sluice_stats *stats)
{
    struct limits_clock now;

    limits_read(l, &now);
    limits_take(l, &now, stats);
}

/* ---- words --------------------------------------------------------------------------------- */

enum limit limits_longest(const uint64_t ns[LIMITS], double *share)
{
    unsigned int i, most = 0;
    double sum = 0;

    for (i = 0; i < LIMITS; i++) {
        sum += (double)ns[i];
        most = ns[i] > ns[most] ? i : most;
    }
    *share = sum <= 0 ? 0 : (double)ns[most] / sum;
    return (enum limit)most;
}

const char *limits_name(enum limit limit)
{
    static const char *const names[LIMITS] = {"disk",   "processor", "busy",    "input",
                                              "output", "peer",      "bwlimit", "grant",
                                              "path",   "start",     "daemon",  "round_trip"};

    return names[limit];
}

enum limit limits_now(const struct limits *l)
{
    double share;
    enum limit most = limits_longest(l->recent, &share);

    return share <= 0 ? LIMITS : most;
}

const char *limits_word(enum limit limit, enum limits_view view)
{
    static const char *const words[LIMITS + 1] = {
        "disk here", "CPU here", "other programs", "input",  "output",     "peer", "bwlimit",
        "grant",     "path",     "start",          "daemon", "round trip", ""};

    if (limit == LIMIT_PEER)
        return view == LIMITS_FROM_RECEIVER ? "sender" : "receiver";
    if (view == LIMITS_FROM_AFAR && limit == LIMIT_DISK)
        return "sender's disk";
    if (view == LIMITS_FROM_AFAR && limit == LIMIT_PROCESSOR)
        return "sender's CPU";
    return words[limit];
}

/* "here", or where else the times come from. */
static const char *describe_where(enum limits_view view)
{
    return view == LIMITS_FROM_AFAR ? "at the sender" : "here";
}

void limits_describe(char *out, size_t out_len, const uint64_t ns[LIMITS], enum limits_view view,
                     const struct sluice_stats *stats)
{
    static const struct {
        const char *what, *hint;
    } words[LIMITS] = {
        [LIMIT_DISK] = {"the disk ", ""},
        [LIMIT_PROCESSOR] = {"the processor ", ", which reads, writes and hashes"},
        [LIMIT_BUSY] = {"other programs, which have the processors ", ""},
        [LIMIT_INPUT] = {"the program that writes to standard input", ""},
        [LIMIT_OUTPUT] = {"the program that reads standard output", ""},
        [LIMIT_OPTION] = {"--bwlimit or --rate", ""},
        [LIMIT_GRANT] = {"the grant", "; \"sluice show capacity\" at the receiver tells more"},
        [LIMIT_PATH] = {"the path", "; \"sluice show path\" at the receiver tells more"},
        [LIMIT_START] = {"the start", ", while the grant was rising"},
        [LIMIT_DAEMON] = {"a daemon or its port", ", which did less than was granted; see \"sluice "
                                                  "show workers\""},
        [LIMIT_ROUND] = {"the round trip", ", with all requests in flight; try more --buffers"},
    };
    double share;
    enum limit most = limits_longest(ns, &share);
    bool sending = view != LIMITS_FROM_RECEIVER;
    bool placed = most == LIMIT_DISK || most == LIMIT_PROCESSOR || most == LIMIT_BUSY;
    const char *peer = sending ? "receiver" : "sender";
    const char *why = sending ? stats->tx_why : stats->rx_why;
    char safe[sizeof stats->tx_why];
    int n = snprintf(out, out_len, "limited for %.0f %% of the time by ", 100 * share);

    if (n < 0 || (size_t)n >= out_len)
        return;
    if (most == LIMIT_PEER)
        snprintf(out + n, out_len - (size_t)n, "the %s, its disk or its processor", peer);
    else if (most == LIMIT_GRANT && strcmp(why, "limit") == 0)
        snprintf(out + n, out_len - (size_t)n, "what the %s allows, by --bwlimit or --rate", peer);
    else if (most == LIMIT_GRANT || most == LIMIT_PATH)
        snprintf(out + n, out_len - (size_t)n, "%s (%s)%s", words[most].what,
                 text_safe(safe, sizeof safe, why), words[most].hint);
    else
        snprintf(out + n, out_len - (size_t)n, "%s%s%s", words[most].what,
                 placed ? describe_where(view) : "", words[most].hint);
}
