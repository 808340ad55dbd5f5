/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/level.h"

#define CLOSE      0x1p-24 /* share of the level: a step this short is the last one */
#define CRAWL      4u      /* if more steps in a row leave over half of the range, it is halved */
#define PASSES_MAX 256u

/* The sum of rates at a level, and its slope there. */
struct point {
    double sum, slope;
};

/* Has no branch, so the processor cannot mispredict one. */
static inline void point_add(struct point *p, const struct level_item *item, double level)
{
    static const double one_if[2] = {0, 1};
    double rate = item->weight * level;

    p->sum += level_rate(item, level);
    p->slope += item->weight * one_if[(rate > item->low) & (rate < item->high)];
}

/* Four sums side by side: in a single one, each addition would wait for the one before. */
static struct point point_at(const struct level_item *items, uint32_t n, double level)
{
    struct point a = {0, 0}, b = a, c = a, d = a;
    uint32_t i;

    for (i = 0; i + 4 <= n; i += 4) {
        point_add(&a, &items[i], level);
        point_add(&b, &items[i + 1], level);
        point_add(&c, &items[i + 2], level);
        point_add(&d, &items[i + 3], level);
    }
    for (; i < n; i++)
        point_add(&a, &items[i], level);
    return (struct point){(a.sum + b.sum) + (c.sum + d.sum),
                          (a.slope + b.slope) + (c.slope + d.slope)};
}

static double halfway(double low, double high)
{
    return high >= LEVEL_MAX ? 4 * low + 1 : low + (high - low) / 2;
}

double level_solve(const struct level_item *items, uint32_t n, double target, double guess)
{
    double low = 0, high = LEVEL_MAX, level = guess, range = LEVEL_MAX;
    uint32_t crawled = 0;

    for (uint32_t pass = 0; pass < PASSES_MAX; pass++) {
        struct point p = point_at(items, n, level);
        double missing = target - p.sum;
        double step = p.slope > 0 ? missing / p.slope : LEVEL_MAX;

        if (step <= level * CLOSE && step >= -level * CLOSE)
            return level + step;
        if (missing > 0)
            low = level;
        else
            high = level;
        crawled = high - low > range / 2 ? crawled + 1 : 0;
        if (crawled == 0)
            range = high - low;
        level += step;
        if (!(level > low && level < high) || crawled > CRAWL) {
            level = halfway(low, high);
            crawled = 0;
        }
        if (level <= low || level >= high) /* low and high are neighbouring doubles */
            break;
    }
    return low;
}
