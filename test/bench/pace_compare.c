/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how many packets a second one core can pace, and how exactly, for each engine and number
 * of flows. All engines do the same work (pace_engine.h) in the same run. They take turns, in an
 * order that is drawn for each round from a seed. Prints lines of JSON, of which scripts/bench pace
 * makes a table.
 *
 * pace_compare [EAL] -- [OPTION...]
 *   --flows N,...       numbers of flows
 *   --engines NAME,...  which engines; all by default
 *   --rounds N          searches for the highest load
 *   --seconds S         shortest measurement
 *   --slots CYCLES,...  widths of slots; an engine with slots takes, for each number of flows,
 *                       the width with which it paces most
 *   --seed N            seed of the order
 *   --check             only checks that the engines do their work; exit status 1 if not
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "base/rng.h"
#include "pace_check.h"
#include "pace_gap.h"
#include "pace_lines.h"
#include "pace_run.h"

#define SIZES_MAX       8
#define ROUNDS_MAX      128
#define SLOTS_MAX       8
#define SLOT_TRIES      3     /* of each width; the best counts, since others may be interrupted */
#define GUESS_PPS       200e6 /* first guess of the highest load */
#define GUESS_SLOW      20e6  /* the same for engines that read the clock */
#define GAP_SHARE       0.5   /* of the slowest engine's top */
#define CHECK_PPS       0.5e6
/* with more flows, rte_sched has only round 0 */
#define SCHED_FLOWS_MAX 500000

#define NAME_EAL "pace_compare"

static const struct pace_engine *const engines[] = {
    &pace_sched, &pace_timer, &pace_carousel, &pace_eiffel, &pace_sluice, &pace_floor,
};
#define ENGINES RTE_DIM(engines)

struct bench {
    uint32_t sizes, rounds, widths, width_tsc[SLOTS_MAX];
    struct rng rng;
    bool check;
    double seconds;
    const char *names; /* of engines; NULL: all */
    uint32_t flows[SIZES_MAX];
    uint32_t largest; /* index of the largest number of flows */
    struct rte_mempool *pool;
    struct rte_mbuf **packets;
    struct pace_plan plans[SIZES_MAX];
    double pps[SIZES_MAX][ENGINES][ROUNDS_MAX]; /* highest loads; 0: none */
    double guess_pps[SIZES_MAX][ENGINES];
    uint32_t slot_tsc[SIZES_MAX][ENGINES]; /* chosen */
    size_t footprint_bytes;                /* Sluice's, else another's, with the most flows */
};

static void die(const char *what)
{
    fprintf(stderr, NAME_EAL ": %s\n", what);
    exit(1);
}

static bool listed(const struct bench *b, uint32_t engine)
{
    const char *name = engines[engine]->name, *at = b->names;
    size_t length = strlen(name);

    if (at == NULL)
        return true;
    for (; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0))
            return true;
    }
    return false;
}

/* Reads numbers with commas between; returns how many there are. */
static uint32_t numbers(const char *text, uint32_t *to, uint32_t max)
{
    char *at = (char *)(uintptr_t)text;
    uint32_t n = 0;

    while (*at != 0 && n < max) {
        to[n++] = (uint32_t)strtoul(at, &at, 10);
        if (*at != 0 && *at++ != ',')
            die("numbers stand with commas between");
    }
    return n;
}

static void options(struct bench *b, int argc, char **argv)
{
    static const struct option names[] = {
        {"flows", required_argument, NULL, 'f'},  {"engines", required_argument, NULL, 'e'},
        {"rounds", required_argument, NULL, 'r'}, {"seconds", required_argument, NULL, 's'},
        {"slots", required_argument, NULL, 'w'},  {"seed", required_argument, NULL, 'd'},
        {"check", no_argument, NULL, 'c'},        {NULL, 0, NULL, 0}};
    const char *flows = "1,1000,32768,131072,1048576", *slots = "256,1024,4096";
    uint64_t seed = 1;
    int c;

    *b = (struct bench){.rounds = 5, .seconds = 0.2};
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 'f':
            flows = optarg;
            break;
        case 'e':
            b->names = optarg;
            break;
        case 'r':
            b->rounds = RTE_MIN((uint32_t)atoi(optarg), ROUNDS_MAX);
            break;
        case 's':
            b->seconds = atof(optarg);
            break;
        case 'w':
            slots = optarg;
            break;
        case 'd':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            b->check = true;
            break;
        default:
            die("unknown option; see the head of pace_compare.c");
        }
    }
    rng_init(&b->rng, seed);
    b->sizes = numbers(flows, b->flows, SIZES_MAX);
    b->widths = numbers(slots, b->width_tsc, SLOTS_MAX);
    for (uint32_t i = 0; i < b->widths; i++)
        if (b->width_tsc[i] < 2)
            die("--slots takes numbers of cycles, 2 and more");
    if (b->widths == 0)
        die("--slots takes at least one number");
    for (uint32_t i = 0; i < b->sizes; i++) {
        if (b->flows[i] == 0 || b->flows[i] > 1u << 24)
            die("--flows takes numbers from 1 to 16777216, with commas between");
        if (b->flows[i] > b->flows[b->largest])
            b->largest = i;
    }
}

/* Makes packets for the largest number of flows; smaller numbers use the first of them. */
static void packets_create(struct bench *b)
{
    uint32_t n = b->flows[b->largest] * PACE_BACKLOG;

    b->pool = rte_pktmbuf_pool_create("pace", n, 0, 0, RTE_PKTMBUF_HEADROOM + PACE_FRAME_BYTES,
                                      SOCKET_ID_ANY);
    b->packets = malloc(n * sizeof *b->packets);
    if (b->pool == NULL || b->packets == NULL ||
        rte_pktmbuf_alloc_bulk(b->pool, b->packets, n) != 0)
        die("no memory for the packets; give EAL more with -m");
    for (uint32_t i = 0; i < n; i++) {
        b->packets[i]->data_len = PACE_FRAME_BYTES;
        b->packets[i]->pkt_len = PACE_FRAME_BYTES;
    }
    for (uint32_t i = 0; i < b->sizes; i++)
        pace_plan_init(&b->plans[i], b->flows[i], b->width_tsc[0], b->packets);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *values, uint32_t n)
{
    double sorted[ROUNDS_MAX];

    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static void top_show(const struct bench *b, uint32_t size, uint32_t engine, uint32_t round,
                     const struct pace_top *top)
{
    printf("{\"kind\": \"top\", \"flows\": %u, \"engine\": \"%s\", \"round\": %u, \"pps\": %.0f, "
           "\"offered_pps\": %.0f, \"schedule\": %.5f, \"long_share\": %.6f, \"away_share\": %.6f, "
           "\"slot_tsc\": %u, "
           "\"footprint_bytes\": %zu}\n",
           b->flows[size], engines[engine]->name, round, top->pps, top->offered_pps, top->schedule,
           top->long_share, top->away_share,
           engines[engine]->slotted ? b->slot_tsc[size][engine] : 0, top->footprint_bytes);
    fflush(stdout);
}

static double first_guess(const struct bench *b, uint32_t size, uint32_t engine)
{
    while (size-- > 0)
        if (b->guess_pps[size][engine] > 0)
            return b->guess_pps[size][engine];
    return engines[engine]->real_clock ? GUESS_SLOW : GUESS_PPS;
}

/* True if the engine is meant for so many flows. */
static bool serious(const struct bench *b, uint32_t size, uint32_t engine)
{
    return engines[engine] != &pace_sched || b->flows[size] <= SCHED_FLOWS_MAX;
}

/* The load for this engine, with the width of slots that it has chosen. */
static struct pace_plan plan_for(const struct bench *b, uint32_t size, uint32_t engine)
{
    struct pace_plan plan = b->plans[size];

    if (b->slot_tsc[size][engine] != 0)
        plan.slot_tsc = b->slot_tsc[size][engine];
    return plan;
}

static bool search(const struct bench *b, uint32_t size, uint32_t engine, double guess_pps,
                   struct pace_top *top)
{
    struct pace_plan plan = plan_for(b, size, engine);

    return pace_run_search(engines[engine], &plan, guess_pps, b->seconds, top);
}

/*
 * Chooses the width of slots with which the engine paces most. Narrow slots are exact, but there
 * are too many of them for the caches where flows are many and slow. Wider slots than --slots
 * allows are not tried.
 */
static void slot_choose(struct bench *b, uint32_t size, uint32_t engine, double guess_pps)
{
    struct pace_top top;
    double best = 0;
    uint32_t chosen = b->width_tsc[0];

    for (uint32_t i = 0; i < SLOT_TRIES * b->widths; i++) {
        b->slot_tsc[size][engine] = b->width_tsc[i % b->widths];
        if (search(b, size, engine, guess_pps, &top) && top.pps > best) {
            best = top.pps;
            guess_pps = top.offered_pps;
            chosen = b->slot_tsc[size][engine];
        }
    }
    b->slot_tsc[size][engine] = chosen;
}

/*
 * Round 0 searches from a rough guess, the later rounds from its result. It counts only where there
 * are no later rounds.
 */
static void top_find(struct bench *b, uint32_t size, uint32_t engine, uint32_t round)
{
    double *guess_pps = &b->guess_pps[size][engine];
    struct pace_top top;
    bool found;

    if (!listed(b, engine) || (round > 0 && (*guess_pps == 0 || !serious(b, size, engine))))
        return;
    if (round == 0) {
        *guess_pps = first_guess(b, size, engine);
        if (engines[engine]->slotted)
            slot_choose(b, size, engine, *guess_pps);
    }
    found = search(b, size, engine, *guess_pps, &top);
    if (round == 0)
        *guess_pps = found ? top.offered_pps : 0;
    if (!found)
        return;
    if (round > 0)
        b->pps[size][engine][round - 1] = top.pps;
    if (size == b->largest && serious(b, size, engine) && !engines[engine]->unpaced &&
        (engines[engine] == &pace_sluice || b->footprint_bytes == 0))
        b->footprint_bytes = top.footprint_bytes;
    top_show(b, size, engine, round, &top);
}

static void stalls_show(const struct pace_stalls *stalls)
{
    printf("\"stalls\": %u, \"trace\": [", stalls->count);
    for (uint32_t i = 0; i < RTE_MIN(stalls->count, PACE_STALLS); i++) {
        const struct pace_stall *s = &stalls->first[i];

        printf("%s{\"at_s\": %.6f, \"length_s\": %.6f, \"off_cpu_s\": %.6f, \"where\": \"%s\", "
               "\"packets\": %u}",
               i > 0 ? ", " : "", s->at_s, s->length_s, s->off_cpu_s, s->where, s->packets);
    }
    printf("]");
}

static void gap_show(uint32_t flows, uint32_t round, const char *engine,
                     const struct pace_gaps *gaps)
{
    const struct histogram *h = &gaps->error_ns;

    printf("{\"kind\": \"gap\", \"flows\": %u, \"round\": %u, \"engine\": \"%s\", \"pps\": %.0f, "
           "\"gaps\": %lu, "
           "\"p50_ns\": %lu, \"p90_ns\": %lu, \"p99_ns\": %lu, \"p999_ns\": %lu, \"max_ns\": %lu, "
           "\"interrupted\": %lu, \"lost_share\": %.6f, ",
           flows, round, engine, gaps->pps, histogram_count(h), histogram_quantile(h, 1, 2),
           histogram_quantile(h, 9, 10), histogram_quantile(h, 99, 100),
           histogram_quantile(h, 999, 1000), h->max, gaps->interrupted, gaps->lost_share);
    stalls_show(&gaps->stalls);
    printf("}\n");
    fflush(stdout);
}

static void spin_show(uint32_t flows, uint32_t round, const struct pace_spin *spin)
{
    printf("{\"kind\": \"spin\", \"flows\": %u, \"round\": %u, \"seconds\": %.3f, \"lost_share\": "
           "%.6f, "
           "\"longest_s\": %.6f, \"p50_ns\": %lu, \"p99_ns\": %lu, ",
           flows, round, spin->seconds, spin->lost_share, spin->longest_s,
           histogram_quantile(&spin->error_ns, 1, 2), histogram_quantile(&spin->error_ns, 99, 100));
    stalls_show(&spin->stalls);
    printf("}\n");
    fflush(stdout);
}

/* Median over the engine's rounds; 0 if there is none, or if the engine does not pace. */
static double top_pps(const struct bench *b, uint32_t size, uint32_t engine)
{
    double found[ROUNDS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->rounds && !engines[engine]->unpaced; i++)
        if (b->pps[size][engine][i] > 0)
            found[n++] = b->pps[size][engine][i];
    return n > 0 ? median(found, n) : 0;
}

/* Draws a new order of the engines, as indices. */
static void order_draw(struct bench *b, uint32_t order[ENGINES])
{
    for (uint32_t i = 0; i < ENGINES; i++) {
        uint32_t other = (uint32_t)rng_below(&b->rng, i + 1);

        order[i] = order[other];
        order[other] = i;
    }
}

/* Measures gaps at a load that all engines sustain. */
static void gaps_find(struct bench *b, uint32_t size, uint32_t round)
{
    static struct pace_gaps gaps;
    static struct pace_spin spin;
    uint32_t order[ENGINES];
    double pps = 0;

    for (uint32_t i = 0; i < ENGINES; i++)
        if (top_pps(b, size, i) > 0 && (pps == 0 || GAP_SHARE * top_pps(b, size, i) < pps))
            pps = GAP_SHARE * top_pps(b, size, i);
    if (pps == 0)
        return;
    order_draw(b, order);
    for (uint32_t k = 0; k < ENGINES; k++) {
        uint32_t i = order[k];
        struct pace_plan plan = plan_for(b, size, i);

        if (top_pps(b, size, i) > 0 &&
            pace_gap_measure(engines[i], &plan, pps, top_pps(b, size, i), 2 * b->seconds, &gaps))
            gap_show(b->flows[size], round, engines[i]->name, &gaps);
    }
    pace_spin_measure(gaps.seconds, b->flows[size], pps, &spin);
    spin_show(b->flows[size], round, &spin);
}

/* Measures loads from as much memory as an engine touches with the most flows: its state, and the
 * first line of each packet. */
static void lines_find(const struct bench *b, uint32_t round)
{
    uint32_t flows = b->flows[b->largest];
    size_t bytes = b->footprint_bytes + (size_t)flows * PACE_BACKLOG * RTE_CACHE_LINE_SIZE;
    struct pace_lines lines;

    if (b->footprint_bytes == 0 || !pace_lines_measure(bytes, &lines))
        return;
    printf("{\"kind\": \"lines\", \"flows\": %u, \"round\": %u, \"bytes\": %zu, \"dependent_ns\": "
           "%.2f, "
           "\"independent_ns\": %.2f}\n",
           flows, round, bytes, lines.dependent_ns, lines.independent_ns);
    fflush(stdout);
}

static void bench_run(struct bench *b)
{
    uint32_t order[ENGINES];

    for (uint32_t round = 0; round <= b->rounds; round++) {
        for (uint32_t size = 0; size < b->sizes; size++) {
            order_draw(b, order);
            for (uint32_t k = 0; k < ENGINES; k++)
                top_find(b, size, order[k], round);
        }
        if (round > 0)
            lines_find(b, round);
    }
    for (uint32_t round = 1; round <= b->rounds; round++)
        for (uint32_t size = 0; size < b->sizes; size++)
            gaps_find(b, size, round);
}

static bool bench_check(const struct bench *b)
{
    bool good = true;

    for (uint32_t size = 0; size < b->sizes; size++) {
        for (uint32_t i = 0; i < ENGINES; i++) {
            bool ok;

            if (!listed(b, i) || engines[i]->unpaced)
                continue;
            ok = pace_check(engines[i], &b->plans[size], CHECK_PPS, b->seconds);
            printf("{\"kind\": \"check\", \"flows\": %u, \"engine\": \"%s\", \"ok\": %s}\n",
                   b->flows[size], engines[i]->name, ok ? "true" : "false");
            fflush(stdout);
            good = good && ok;
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int eal = rte_eal_init(argc, argv);
    bool good = true;

    if (eal < 0)
        return 1;
    options(&bench, argc - eal, argv + eal);
    packets_create(&bench);
    if (bench.check)
        good = bench_check(&bench);
    else
        bench_run(&bench);
    for (uint32_t i = 0; i < bench.sizes; i++)
        pace_plan_free(&bench.plans[i]);
    free(bench.packets);
    rte_mempool_free(bench.pool);
    rte_eal_cleanup();
    return good ? 0 : 1;
}
