/* SPDX-License-Identifier: BSD-3-Clause */
/* Large memory regions, kept from one test to the next; and the pattern of content checks. */
#include "sluice/perf/region.h"

#include <string.h>

void regions_init(struct regions *r, struct sluice *session)
{
    r->session = session;
    r->n = 0;
}

uint8_t *regions_take(struct regions *r, uint64_t len_bytes)
{
    uint8_t *memory;
    uint32_t i;

    for (i = 0; i < r->n; i++) {
        if (r->spare[i].len_bytes == len_bytes) {
            memory = r->spare[i].memory;
            r->spare[i] = r->spare[--r->n];
            return memory;
        }
    }
    memory = sluice_alloc(r->session, len_bytes);
    /* Spare regions of other sizes may hold the memory that is missing. */
    while (memory == NULL && r->n > 0) {
        sluice_free(r->session, r->spare[--r->n].memory);
        memory = sluice_alloc(r->session, len_bytes);
    }
    return memory;
}

void regions_give(struct regions *r, uint8_t *memory, uint64_t len_bytes)
{
    if (memory == NULL)
        return;
    if (r->n == REGIONS_MAX) {
        sluice_free(r->session, memory);
        return;
    }
    r->spare[r->n].memory = memory;
    r->spare[r->n++].len_bytes = len_bytes;
}

/* A word that depends on all bits of its position, so that misplaced data are noticed. */
static uint64_t pattern_word(uint64_t seed, uint64_t position)
{
    uint64_t z = seed + (position / 8 + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void pattern_fill(uint8_t *to, uint64_t len, uint64_t seed, uint64_t position)
{
    uint64_t i;

    for (i = 0; i < len; i += 8) {
        uint64_t word = pattern_word(seed, position + i);

        memcpy(to + i, &word, len - i < 8 ? len - i : 8);
    }
}

uint64_t pattern_wrong(const uint8_t *from, uint64_t len, uint64_t seed, uint64_t position)
{
    uint64_t i, n, wrong = 0;

    for (i = 0; i < len; i += n) {
        uint64_t word = pattern_word(seed, position + i);

        n = len - i < 8 ? len - i : 8;
        if (memcmp(from + i, &word, n) != 0)
            wrong += n;
    }
    return wrong;
}
