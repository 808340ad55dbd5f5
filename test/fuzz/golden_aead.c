/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_aead.c: each cipher and packet, with a bit changed in each part of it. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fuzz_aead.h"

#define CIPHERS 3u
#define PACKETS 4u
#define CASES   4u

const uint64_t golden_runs = 8000;

size_t golden_put(unsigned int i, uint8_t *p)
{
    static const struct golden {
        uint16_t bit, len;
        uint8_t pieces[4], associated_len;
    } cases[CASES] = {{0, 0, {0, 0, 0, 0}, 0},
                      {100, 40, {1, 3, 16, 1}, 56},
                      {8 * 165, 700, {200, 255, 7, 0}, 20},
                      {8 * 300 + 7, 1500, {255, 255, 255, 255}, 255}};
    const struct golden *g = &cases[i % CASES];

    if (i >= CIPHERS * PACKETS * CASES)
        return 0;
    p[0] = (uint8_t)(i / CASES % CIPHERS | i / CASES / CIPHERS << 2);
    p[1] = (uint8_t)i;
    p[2] = (uint8_t)(g->bit >> 8);
    p[3] = (uint8_t)g->bit;
    memcpy(p + 4, g->pieces, sizeof g->pieces);
    p[8] = g->associated_len;
    for (uint32_t k = 0; k < g->associated_len + (uint32_t)g->len; k++)
        p[9 + k] = (uint8_t)(k * 29);
    return 9u + g->associated_len + g->len;
}

void golden_check(void)
{
    const struct fuzz_aead_counts *c = &fuzz_aead_counts;

    for (uint32_t i = 0; i < CIPHERS; i++)
        CHECK(c->ciphers[i] >= 16);
    for (uint32_t i = 0; i < PACKETS; i++)
        CHECK(c->packets[i] >= 12);
    CHECK(c->right >= 48 && c->wrong >= 45 && c->hops >= 3);
}

void golden_print(void)
{
    const struct fuzz_aead_counts *c = &fuzz_aead_counts;

    printf("sealed: alone %llu FIRST %llu CNTL %llu DATA %llu; right %llu, wrong %llu, changed by "
           "routers %llu\n",
           (unsigned long long)c->packets[AEAD_PACKET_NONE],
           (unsigned long long)c->packets[AEAD_PACKET_FIRST],
           (unsigned long long)c->packets[AEAD_PACKET_CNTL],
           (unsigned long long)c->packets[AEAD_PACKET_DATA], (unsigned long long)c->right,
           (unsigned long long)c->wrong, (unsigned long long)c->hops);
}
