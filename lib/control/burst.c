/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/burst.h"

#include "base/clock.h"

#define ALIKE        2u  /* alike: the most packets before a run are at most twice the fewest */
#define SOON         4u  /* after less than 1/4 of the usual packets, the last run goes on */
#define RESERVE      8u  /* 1/8 of the estimate is not granted */
#define STEP         16u /* the limit rises by 1/16 */
#define QUIET_BURSTS 16u
#define SETBACKS_MAX 6u

void burst_init(struct burst *b)
{
    *b = (struct burst){0};
}

static void window_begin(struct burst *b, const struct burst_sample *s)
{
    b->runs = 0;
    b->sum = b->most = 0;
    b->least = UINT64_MAX;
    b->time_ns = s->time_ns;
    b->host_bytes = s->host_bytes;
}

/* Did the host receive much less than it could? */
static bool low(const struct burst *b, const struct burst_sample *s)
{
    unsigned __int128 received =
        (unsigned __int128)(s->host_bytes - b->host_bytes) * CLOCK_NS_PER_S;
    unsigned __int128 could = (unsigned __int128)s->could_Bps * (s->time_ns - b->time_ns);

    return received < could / 4 * 3;
}

static void limit_set(struct burst *b, uint64_t found)
{
    if (b->limit_packets != 0 && b->setbacks < SETBACKS_MAX)
        b->setbacks++;
    b->found_packets = found > 0 ? found : 1;
    b->limit_packets = b->found_packets - b->found_packets / RESERVE;
    b->limit_packets -= b->limit_packets == b->found_packets && b->limit_packets > 1;
    b->quiet = 0;
}

/* Counts `runs` runs, each with `packets` packets before it. */
static void run_count(struct burst *b, uint64_t packets, uint32_t runs)
{
    b->runs += runs;
    b->sum += packets * runs;
    b->least = packets < b->least ? packets : b->least;
    b->most = packets > b->most ? packets : b->most;
}

/* Bursts as large as the limit lost packets. True if that happens so often that the limit is too
 * high. */
static bool limit_fails(struct burst *b, const struct burst_sample *s, uint64_t packets)
{
    if (packets < b->limit_packets / SOON)
        return false;
    run_count(b, packets, 1);
    if (b->sum > b->limit_packets * QUIET_BURSTS * BURST_RUNS) {
        window_begin(b, s);
        return false;
    }
    return b->runs >= BURST_RUNS;
}

/* Counts runs that are alike. True if there were enough in a row. */
static bool runs_alike(struct burst *b, const struct burst_sample *s, uint64_t packets)
{
    if (packets < b->most / SOON)
        return false;
    if (b->least < packets / SOON)
        window_begin(b, s);
    run_count(b, packets, s->runs < BURST_RUNS ? (uint32_t)s->runs : BURST_RUNS);
    if (b->most > ALIKE * b->least)
        window_begin(b, s);
    return b->runs >= BURST_RUNS;
}

/* Runs have begun, one or more. True if the limit changed. */
static bool run_take(struct burst *b, const struct burst_sample *s)
{
    uint64_t packets = b->packets / s->runs;
    bool bounded = b->limit_packets != 0 && s->bounded, found;

    b->packets = 0;
    if (b->time_ns == 0 || !s->own) {
        window_begin(b, s); /* the packets before the first run are unknown */
        return false;
    }
    if (!(bounded ? limit_fails(b, s, packets) : runs_alike(b, s, packets)))
        return false;
    found = low(b, s);
    if (found)
        limit_set(b, bounded ? b->limit_packets : b->sum / b->runs);
    window_begin(b, s);
    return found;
}

/* Raises the limit, or ends one above BURST_MAX, if nothing was lost for long enough. True if the
 * limit changed. */
static bool limit_raise(struct burst *b)
{
    if (b->limit_packets == 0 || b->quiet < (b->limit_packets * QUIET_BURSTS) << b->setbacks)
        return false;
    b->quiet = 0;
    b->limit_packets += b->limit_packets / STEP + 1;
    if (b->limit_packets > BURST_MAX)
        b->limit_packets = b->setbacks = 0;
    return true;
}

bool burst_update(struct burst *b, const struct burst_sample *s)
{
    b->packets += s->packets;
    if (s->runs > 0)
        b->quiet = 0;
    else if (s->bounded)
        b->quiet += s->packets;
    return s->runs > 0 ? run_take(b, s) : limit_raise(b);
}

uint64_t burst_bound(const struct burst *b, uint64_t burst_bytes, uint64_t unit_bytes)
{
    uint64_t limit = b->limit_packets * unit_bytes;

    return limit != 0 && limit < burst_bytes ? limit : burst_bytes;
}
