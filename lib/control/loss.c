/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/loss.h"

#include <stddef.h>

#include "base/clock.h"
#include "control/root.h"

#define BLOCK_RUNS    8u /* so many runs show the share lost with an error of about a third */
#define BLOCK_PACKETS 512u
#define RUNS_MIN      3u        /* too many losses in fewer runs are a doubt */
#define LOST_MIN      2u        /* so few may be chance */
#define SHARE_MORE    (1.0 / 8) /* of packets: more losses beyond the expected show a full link */
#define SHARE_MAX     (1.0 / 3) /* the most that a path is thought to lose anyway */
#define DEVIATIONS    2         /* by which losses may exceed the expected ones by chance */

static double share_of(const struct loss_sum *s)
{
    return (double)s->lost / (double)(s->packets + s->lost);
}

static void sum_add(struct loss_sum *sum, const struct loss_sum *s)
{
    sum->packets += s->packets;
    sum->lost += s->lost;
    sum->runs += s->runs;
    sum->bytes += s->bytes;
    sum->span_ns += s->span_ns;
}

void loss_add(struct loss *l, const struct loss_sum *s)
{
    sum_add(&l->block, s);
    if (l->block.runs < BLOCK_RUNS && l->block.packets < BLOCK_PACKETS)
        return;
    l->blocks[l->count++ % LOSS_BLOCKS] = l->block;
    l->block = (struct loss_sum){0};
}

/* The complete block with the smallest share lost; NULL: none is complete. */
static const struct loss_sum *min_block(const struct loss *l)
{
    const struct loss_sum *least = NULL;

    for (uint32_t i = 0; i < l->count && i < LOSS_BLOCKS; i++)
        if (least == NULL || share_of(&l->blocks[i]) < share_of(least))
            least = &l->blocks[i];
    return least;
}

static bool exceeds(const struct loss *l, const struct loss_sum *s)
{
    const struct loss_sum *least = min_block(l);
    double n = (double)(s->packets + s->lost), expected = 0, deviation = 0;

    if (least != NULL && least->runs > 0) {
        double share = share_of(least);

        expected = n * (share < SHARE_MAX ? share : SHARE_MAX);
        deviation = root(2 * expected * (double)least->lost / (double)least->runs);
    }
    return (double)s->lost > LOST_MIN + expected + DEVIATIONS * deviation + n * SHARE_MORE;
}

bool loss_exceeds(struct loss *l, const struct loss_sum *s)
{
    sum_add(&l->doubt, s);
    bool many = exceeds(l, &l->doubt), sure = many && l->doubt.runs >= RUNS_MIN;

    if (sure)
        l->many_Bps = (double)l->doubt.bytes * CLOCK_NS_PER_S / (double)l->doubt.span_ns;
    if (!many || sure)
        l->doubt = (struct loss_sum){0};
    return sure;
}
