/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic/tally.h"

#include <string.h>

#include "base/check.h"

#define WORDS (TALLY_BITS / 64)

size_t tally_storage_bytes(uint32_t flows)
{
    return (WORDS + (size_t)flows) * sizeof(uint64_t);
}

static void numbers_clear(struct tally *t)
{
    t->next = 0;
    memset(t->bits, 0, WORDS * sizeof *t->bits);
    memset(t->flow_next, 0, (size_t)t->flows * sizeof *t->flow_next);
}

void tally_init(struct tally *t, uint32_t flows, void *storage)
{
    CHECK(flows > 0);
    *t = (struct tally){.flows = flows, .bits = storage};
    t->flow_next = t->bits + WORDS;
    numbers_clear(t);
}

void tally_again(struct tally *t)
{
    t->earlier_frames += t->next;
    numbers_clear(t);
}

/* Invariant: in the word of the highest number, the bits above it are clear. So bits are cleared
 * by words, when the first number of a word is passed. */
void tally_advance(struct tally *t, uint64_t number)
{
    uint64_t last = number / 64, word = (t->next + 63) / 64; /* words to clear: word .. last */

    if (last >= word && last - word >= WORDS)
        word = last - WORDS + 1;
    for (; word <= last; word++)
        *tally_word(t, word * 64) = 0;
    counter_set(&t->next, number + 1);
}

void tally_reordered(struct tally *t, uint64_t flow_next, uint64_t number)
{
    counter_add(&t->reordered, 1);
    histogram_add(&t->displacement, (flow_next - 1 - number) / t->flows);
}

uint64_t tally_missing(const struct tally *t)
{
    return t->earlier_frames + t->next - t->received;
}
