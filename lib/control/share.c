/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves one priority after the other. The flows of a priority become items (level.h). The limits
 * of a peer narrow `low` and `high` of its items, which are side by side. Then one level is sought
 * for all items of the priority.
 */
#include "control/share.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "control/level.h"

#define AHEAD    24u     /* flows to prefetch ahead: they are many, and each is read once */
#define ROUNDING 0x1p-12 /* bytes/s: a rate that should be a whole number may be a bit less */

/* Sums over flows that are side by side. */
struct sums {
    double min_Bps, max_Bps, weight; /* of `low`, `high` and `weight` of their items */
};

/* Flows of a peer with limits. */
struct run {
    uint32_t first, n;
    uint32_t peer;
    struct sums sums;
};

/* Flows of one priority. */
struct group {
    uint32_t first, n;
    uint32_t runs_first, runs_n;
    struct sums sums;
};

struct share {
    uint32_t flows_max;
    struct level_item *items; /* one for each flow, in their order */
    struct run *runs;
    uint32_t n_runs;
    struct group groups[SHARE_PRIORITIES];
    double levels[SHARE_PRIORITIES];   /* of the last share_run(): good guesses for the next */
    double left_Bps[SHARE_PRIORITIES]; /* share_left() */
};

size_t share_storage_bytes(uint32_t flows)
{
    return sizeof(struct share) + flows * (sizeof(struct level_item) + sizeof(struct run));
}

struct share *share_init(void *storage, uint32_t flows)
{
    struct share *s = storage;

    *s = (struct share){.flows_max = flows, .items = (struct level_item *)(s + 1)};
    s->runs = (struct run *)(s->items + flows);
    return s;
}

/* ---- what a flow and a peer may have --------------------------------------------------------- */

static double rate_of(uint64_t rate_Bps)
{
    return (double)(int64_t)(rate_Bps < SHARE_RATE_MAX_BPS ? rate_Bps : SHARE_RATE_MAX_BPS);
}

static void item_make(struct level_item *item, const struct share_flow *f)
{
    uint64_t most = f->demand_Bps < f->ceiling_Bps ? f->demand_Bps : f->ceiling_Bps;

    item->low = rate_of(f->min_Bps < most ? f->min_Bps : most);
    item->high = rate_of(most);
    item->weight = f->weight + (f->weight == 0);
}

static bool limited(const struct share_peer *p)
{
    return p->min_Bps > 0 || p->ceiling_Bps < SHARE_RATE_MAX_BPS;
}

/* Makes items of flow `first` and of the flows after it that have its priority and peer. Returns
 * the number of the flow after them. */
static uint32_t stretch_make(struct level_item *items, const struct share_flow *flows,
                             uint32_t first, uint32_t n, struct sums *sums)
{
    uint32_t i = first, peer = flows[first].peer;
    uint8_t priority = flows[first].priority;
    struct sums all = {0, 0, 0};

    do {
        __builtin_prefetch(&flows[i + AHEAD]);
        item_make(&items[i], &flows[i]);
        all.min_Bps += items[i].low;
        all.max_Bps += items[i].high;
        all.weight += items[i].weight;
        i++;
    } while (i < n && flows[i].peer == peer && flows[i].priority == priority);
    *sums = all;
    return i;
}

/* Makes all items, and finds where groups and runs begin and end, and their sums. */
static void items_make(struct share *s, const struct share_flow *flows, uint32_t n,
                       const struct share_peer *peers, uint32_t n_peers)
{
    uint32_t last = SHARE_PRIORITIES;

    memset(s->groups, 0, sizeof s->groups);
    s->n_runs = 0;
    for (uint32_t i = 0, end; i < n; i = end) {
        uint32_t peer = flows[i].peer, priority = flows[i].priority;
        struct group *g;
        struct sums sums;

        CHECK(priority < SHARE_PRIORITIES && (i == 0 || priority >= last) &&
              (peer == SHARE_NO_PEER || peer < n_peers));
        end = stretch_make(s->items, flows, i, n, &sums);
        g = &s->groups[priority];
        if (priority != last) {
            g->first = i;
            g->runs_first = s->n_runs;
            last = priority;
        }
        g->n += end - i;
        g->sums.min_Bps += sums.min_Bps;
        g->sums.max_Bps += sums.max_Bps;
        g->sums.weight += sums.weight;
        if (peer != SHARE_NO_PEER && limited(&peers[peer])) {
            s->runs[s->n_runs++] = (struct run){i, end - i, peer, sums};
            g->runs_n++;
        }
    }
}

/* For minimums that exceed what there is to share: each `low` becomes the `high`, and no item keeps
 * a `low`. */
static void minimums_relax(struct level_item *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        items[i].high = items[i].low;
        items[i].low = 0;
    }
}

/* Turns the limits of a peer, less what its flows of higher priorities have, into `low` and `high`
 * of its items. */
static void peer_fit(struct level_item *items, struct run *r, const struct share_peer *p)
{
    double ceiling = rate_of(p->ceiling_Bps) - rate_of(p->grant_Bps), level;
    double min = rate_of(p->min_Bps) - rate_of(p->grant_Bps);

    if (r->sums.max_Bps > ceiling && p->ceiling_Bps < SHARE_RATE_MAX_BPS) {
        ceiling = ceiling > 0 ? ceiling : 0;
        if (r->sums.min_Bps > ceiling) {
            minimums_relax(items, r->n);
            r->sums.min_Bps = 0;
        }
        level = level_solve(items, r->n, ceiling, ceiling / r->sums.weight);
        for (uint32_t i = 0; i < r->n; i++)
            items[i].high = level_rate(&items[i], level);
        r->sums.max_Bps = ceiling;
    }
    if (min <= r->sums.min_Bps)
        return;
    level = r->sums.max_Bps > min ? level_solve(items, r->n, min, min / r->sums.weight) : LEVEL_MAX;
    for (uint32_t i = 0; i < r->n; i++)
        items[i].low = level_rate(&items[i], level);
    r->sums.min_Bps = min < r->sums.max_Bps ? min : r->sums.max_Bps;
}

/* ---- one priority ---------------------------------------------------------------------------- */

/* Indexed by four facts about a flow, bit 0 first: weight * level is below `low`; weight * level is
 * not below `high`; the grant reaches the ceiling; the grant reaches the demand. A table, since
 * branches would often be mispredicted. */
static const uint8_t bounds[16] = {
    [0] = SHARE_LEVEL,   [1] = SHARE_MINIMUM, [2] = SHARE_PEER,    [3] = SHARE_PEER,
    [4] = SHARE_LEVEL,   [5] = SHARE_MINIMUM, [6] = SHARE_CEILING, [7] = SHARE_CEILING,
    [8] = SHARE_DEMAND,  [9] = SHARE_DEMAND,  [10] = SHARE_DEMAND, [11] = SHARE_DEMAND,
    [12] = SHARE_DEMAND, [13] = SHARE_DEMAND, [14] = SHARE_DEMAND, [15] = SHARE_DEMAND,
};

static uint8_t bound_of(const struct share_flow *f, const struct level_item *item, double level)
{
    double rate = item->weight * level;

    return bounds[(rate < item->low) | (rate >= item->high) << 1 |
                  (f->grant_Bps >= f->ceiling_Bps) << 2 | (f->grant_Bps >= f->demand_Bps) << 3];
}

/* Sets the grants at this level. Returns their sum. */
static uint64_t grants_set(const struct level_item *items, struct share_flow *flows, uint32_t n,
                           struct share_peer *peers, double level)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct share_flow *f = &flows[i];

        __builtin_prefetch(f + AHEAD, 1);
        __builtin_prefetch(&items[i + AHEAD]);
        f->grant_Bps = (uint64_t)(int64_t)(level_rate(&items[i], level) + ROUNDING);
        f->bound = bound_of(f, &items[i], level);
        sum += f->grant_Bps;
        if (f->peer != SHARE_NO_PEER)
            peers[f->peer].grant_Bps += f->grant_Bps;
    }
    return sum;
}

static uint64_t group_run(struct share *s, uint8_t priority, struct share_flow *flows,
                          struct share_peer *peers, double capacity_Bps)
{
    const struct group *g = &s->groups[priority];
    struct level_item *items = &s->items[g->first];
    double *level = &s->levels[priority], least = g->sums.min_Bps, most = g->sums.max_Bps;

    for (uint32_t k = 0; k < g->runs_n; k++) {
        struct run *r = &s->runs[g->runs_first + k], before = *r;

        peer_fit(&s->items[r->first], r, &peers[r->peer]);
        least += r->sums.min_Bps - before.sums.min_Bps;
        most += r->sums.max_Bps - before.sums.max_Bps;
    }
    if (least > capacity_Bps) {
        most = least;
        minimums_relax(items, g->n);
    }
    if (!(*level > 0 && *level < LEVEL_MAX))
        *level = capacity_Bps / g->sums.weight;
    *level = most > capacity_Bps ? level_solve(items, g->n, capacity_Bps, *level) : LEVEL_MAX;
    return grants_set(items, flows + g->first, g->n, peers, *level);
}

/* ---- all ------------------------------------------------------------------------------------- */

void share_run(struct share *s, struct share_flow *flows, uint32_t n, struct share_peer *peers,
               uint32_t n_peers, uint64_t capacity_Bps)
{
    uint64_t left = capacity_Bps < SHARE_RATE_MAX_BPS ? capacity_Bps : SHARE_RATE_MAX_BPS, given;
    double later = 0;

    CHECK(n <= s->flows_max);
    for (uint32_t p = 0; p < n_peers; p++)
        peers[p].grant_Bps = 0;
    items_make(s, flows, n, peers, n_peers);
    for (uint32_t k = 0; k < SHARE_PRIORITIES; k++)
        later += s->groups[k].sums.min_Bps;
    for (uint8_t k = 0; k < SHARE_PRIORITIES; k++) {
        later -= s->groups[k].sums.min_Bps;
        s->left_Bps[k] = (double)left > later ? (double)left - later : 0;
        if (s->groups[k].n == 0)
            continue;
        given = group_run(s, k, flows, peers, s->left_Bps[k]);
        left -= given < left ? given : left;
    }
}

uint64_t share_left(const struct share *s, uint8_t priority)
{
    return (uint64_t)s->left_Bps[priority];
}
