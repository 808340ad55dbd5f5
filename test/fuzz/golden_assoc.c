/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_assoc.c: handshakes that go well, and each way in which they may not. */
#include <stdio.h>

#include "base/check.h"
#include "fuzz_assoc.h"
#include "fuzz_golden.h"

#define A 0
#define B STEP_AT_B
#define F STEP_FLAG

#define WANT_A         STEP_WANT
#define WANT_B         STEP_WANT | B
#define TO_A           STEP_DELIVER
#define TO_B           STEP_DELIVER | B
#define SHAKE_A        WANT_A, TO_B, TO_A, STEP_CONFIRM | B
#define SHAKE_B        WANT_B, TO_A, TO_B, STEP_CONFIRM
#define SECONDS_24     STEP_TIME, 240
#define MINUTES_2      SECONDS_24, SECONDS_24, SECONDS_24, SECONDS_24, SECONDS_24
/* time, association, ciphers or cipher, zero */
#define OFFER(time)    0, 0, 0, 0, 0, 0, 0, time, 0, 0, 0, 9, 0, 3, 0, 0
#define CHOICE(cipher) 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, cipher, 0, 0

const uint64_t golden_runs = 1500;

static const struct fuzz_golden goldens[] = {
    GOLDEN(SHAKE_A),
    GOLDEN(SHAKE_A, SHAKE_B, STEP_OVER, STEP_OVER | B),
    /* under pressure */
    GOLDEN(WANT_A, TO_B | F, TO_A, TO_B | F, TO_A, STEP_CONFIRM | B),
    /* renewed three times, in doubt once, and at last too old */
    GOLDEN(SHAKE_A, MINUTES_2, SHAKE_A, MINUTES_2, SHAKE_A, SECONDS_24, WANT_A | F, TO_B, TO_A,
           STEP_CONFIRM | B, MINUTES_2, MINUTES_2, STEP_OVER, STEP_OVER | B),
    /* repeated, replaced, given up */
    GOLDEN(WANT_A, STEP_TIME, 1, WANT_A, TO_B, WANT_A, STEP_TIME, 60, WANT_A, TO_B, TO_A, STEP_TIME,
           255, STEP_OVER),
    /* the same INIT again, and an older one that has a cookie */
    GOLDEN(STEP_FORGE | B, OFFER(8), 1, TO_B, STEP_CONFIRM | B, STEP_FORGE | B, OFFER(7), 2, TO_B,
           STEP_CHANGE | B | STEP_MORE, 0, 0, TO_B, STEP_CONFIRM | B),
    GOLDEN(STEP_FORGE | B, OFFER(8), 1, TO_B, STEP_FORGE | B, OFFER(8), 2, TO_B),
    /* payloads that are none */
    GOLDEN(STEP_FORGE | B, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 1, TO_B),
    GOLDEN(STEP_FORGE | B, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 4, 0, 0, 1, TO_B),
    GOLDEN(WANT_A, STEP_FORGE | B | F, CHOICE(1), TO_A, STEP_OVER),
    GOLDEN(WANT_A, STEP_FORGE | B | F, CHOICE(2), TO_A, WANT_A, TO_B, TO_A),
    /* changed: the message, mac1, mac2, a RESPONSE, a COOKIE */
    GOLDEN(WANT_A, STEP_CHANGE | B | F, 40, 1, TO_B),
    GOLDEN(WANT_A, STEP_CHANGE | B, 130, 1, TO_B),
    GOLDEN(WANT_A, STEP_CHANGE | B, 150, 1, TO_B | F, TO_A, TO_B | F),
    GOLDEN(WANT_A, TO_B, STEP_CHANGE, 70, 1, TO_A),
    GOLDEN(WANT_A, TO_B | F, STEP_CHANGE, 40, 1, TO_A),
    /* another number; workers that keep what is over */
    GOLDEN(WANT_A, TO_B, TO_A, STEP_CONFIRM | B | F, STEP_CONFIRM | B, MINUTES_2, MINUTES_2,
           STEP_OVER | F, STEP_OVER | B | F, SHAKE_A, STEP_OVER, STEP_OVER | B),
    /* no packets */
    GOLDEN(STEP_RAW, 0, TO_A, STEP_RAW, 3, 0x15, 0, 0, TO_B),
    GOLDEN(STEP_RAW, 80, 0x16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    return golden_copy(goldens, sizeof goldens / sizeof goldens[0], i, p);
}

void golden_check(void)
{
    const struct fuzz_assoc_counts *c = &fuzz_assoc_counts;

    for (int i = 0; i < 8; i++)
        CHECK(c->steps[i] > 0);
    CHECK(c->incoming >= 14 && c->outgoing >= 12 && c->cookies >= 4);
    CHECK(c->confirmed >= 10 && c->over >= 8 && c->refused >= 9);
}

void golden_print(void)
{
    const struct fuzz_assoc_counts *c = &fuzz_assoc_counts;

    printf("associations: incoming %llu outgoing %llu confirmed %llu over %llu; COOKIE %llu, "
           "refused %llu\n",
           (unsigned long long)c->incoming, (unsigned long long)c->outgoing,
           (unsigned long long)c->confirmed, (unsigned long long)c->over,
           (unsigned long long)c->cookies, (unsigned long long)c->refused);
}
