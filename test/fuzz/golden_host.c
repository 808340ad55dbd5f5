/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_host.c: transfers in each mode, and each kind of forged packet. */
#include <stdio.h>

#include "base/check.h"
#include "fuzz_golden.h"
#include "fuzz_host.h"

#define B                 0x10
#define US64              2 << 5 /* of HOST_STEP_RUN */
#define MS4               4 << 5
#define RUN               HOST_STEP_RUN | US64, 40
#define ACCEPT            HOST_STEP_OPEN | B
#define CONNECT           HOST_STEP_OPEN | 0x20
#define OPEN              ACCEPT, HOST_STEP_RECV | B, 200, CONNECT, RUN, RUN, HOST_STEP_RUN | MS4, 10
#define SEND(n)           HOST_STEP_SEND, n
#define RECV(n)           HOST_STEP_RECV | B, n
#define TRANSFER          OPEN, SEND(200), RUN, RUN
#define TO_B              B
#define CHANGED           0x20
#define EARLY             0x40
/* a frame again, with a bit of its payload changed */
#define CHANGED_LETTER(i) HOST_STEP_LETTER | TO_B | CHANGED, i, 1, 0, 150, 1
/* values that are as they should be */
#define V4                0, 0, 0, 0
#define V8                V4, V4

const uint64_t golden_runs = 500;

static const struct fuzz_golden goldens[] = {
    /* whole lives */
    GOLDEN(0, TRANSFER, HOST_STEP_END, HOST_STEP_END | B, RECV(10), RUN, RUN, HOST_STEP_END | 0x20),
    GOLDEN(MODE_SEALED, TRANSFER, HOST_STEP_END, HOST_STEP_END | B, RECV(10), RUN, RUN),
    GOLDEN(MODE_IPV6 | MODE_COPY, TRANSFER, SEND(9), RECV(9), RUN),
    GOLDEN(MODE_SEALED | MODE_IPV6 | MODE_VLAN, TRANSFER, SEND(9), RECV(9), RUN),
    GOLDEN(MODE_GO_BACK_N | MODE_UNSUMMED, OPEN, SEND(200), HOST_STEP_LOSE, 0x11, RUN, RUN),
    GOLDEN(0, OPEN, HOST_STEP_SEND | 0x20, 200, HOST_STEP_LOSE, 0x24, RUN, RUN, RUN),
    GOLDEN(0, ACCEPT, CONNECT, SEND(100), SEND(0), RUN, RUN, RECV(100), RECV(0), RUN),
    GOLDEN(0, CONNECT, RUN, HOST_STEP_TIME, 200, RUN, HOST_STEP_TIME, 250, HOST_STEP_TIME, 250,
           RUN),
    GOLDEN(0, TRANSFER, HOST_STEP_CAPACITY | B, 50, SEND(200), RECV(200), RUN, HOST_STEP_TIME, 255,
           HOST_STEP_TIME, 255, HOST_STEP_TIME, 255, RUN),
    GOLDEN(0, OPEN, SEND(200), RECV(1), RUN, HOST_STEP_END | B | 0x20, RUN),
    /* frames again, changed, cut short, at their sender */
    GOLDEN(0, TRANSFER, HOST_STEP_LETTER | TO_B, 0, HOST_STEP_LETTER | TO_B, 5, HOST_STEP_LETTER, 0,
           HOST_STEP_LETTER | 0x40, 0, 9, HOST_STEP_LETTER | 0x80, 0, HOST_STEP_LETTER | CHANGED, 0,
           1, 0, 50, 1, RUN),
    GOLDEN(MODE_SEALED, TRANSFER, HOST_STEP_LETTER | TO_B, 0, HOST_STEP_LETTER | TO_B | CHANGED, 0,
           1, 0, 99, 1, HOST_STEP_LETTER, 0, SEND(9), RECV(9), RUN),
    /* sealed packets that come changed, while right ones are lost */
    GOLDEN(MODE_SEALED, OPEN, SEND(200), HOST_STEP_LOSE, 0xff, HOST_STEP_RUN | US64, 5,
           CHANGED_LETTER(2), CHANGED_LETTER(3), CHANGED_LETTER(4), CHANGED_LETTER(5),
           CHANGED_LETTER(6), CHANGED_LETTER(7), RUN, RUN),
    /* the same, once the connection is closed: such a packet counts once, too */
    GOLDEN(MODE_SEALED, OPEN, SEND(200), HOST_STEP_LOSE, 0xff, HOST_STEP_RUN | US64, 5,
           HOST_STEP_END | B | 0x20, CHANGED_LETTER(2), CHANGED_LETTER(3), CHANGED_LETTER(4),
           CHANGED_LETTER(5), CHANGED_LETTER(6), CHANGED_LETTER(7)),
    /* forged packets, right in all or wrong in something */
    GOLDEN(0, ACCEPT, HOST_STEP_FIRST | TO_B, V4, 0, RUN, HOST_STEP_FIRST | TO_B, 2, V4, RUN),
    GOLDEN(0, TRANSFER, RECV(200), HOST_STEP_DATA | TO_B, 0, 2, 2, 1, 0, 0, 0, RUN,
           HOST_STEP_DATA | TO_B, 0, 4, 0, 2, 0, 0, 0, HOST_STEP_DATA | TO_B | EARLY, 0, 4, V4, 0,
           RUN),
    GOLDEN(0, TRANSFER, HOST_STEP_CNTL | TO_B, 0, V8, V8, V4, RUN, HOST_STEP_CNTL | TO_B, 8, V4, 2,
           0, 2, 0, V4, 0, 2, 1, 1, 2, 2, 0, 0, RUN),
    GOLDEN(0, OPEN, SEND(200), HOST_STEP_CNTL, 1, V4, 0, 2, 32, V8, 1, 3, 1, 1, RUN),
    GOLDEN(0, TRANSFER, HOST_STEP_DATA | TO_B | 0x80, 0, 2, 2, 1, 0, 0, 0,
           HOST_STEP_CNTL | TO_B | 0x80, 0, V8, V8, V4, RUN),
    GOLDEN(0, TRANSFER, HOST_STEP_RCNTL, 9, 9, 99, 2, SEND(200), RECV(200), RUN, HOST_STEP_RCNTL, 1,
           1, 1, 1, RUN),
    GOLDEN(MODE_SEALED, TRANSFER, HOST_STEP_FIRST | TO_B, V4, 0, HOST_STEP_DATA | TO_B, 0, 2, 2, V4,
           HOST_STEP_CNTL | TO_B, 0, V8, V8, V4, HOST_STEP_RCNTL, 9, 9, 9, 9, RUN),
    /* the link: who has, is at, is here, are you still */
    GOLDEN(0, HOST_STEP_LINK, 0, HOST_STEP_LINK, 1, HOST_STEP_LINK, 0x12, HOST_STEP_LINK, 3,
           HOST_STEP_LINK, 0x14, HOST_STEP_LINK, 8, RUN, CONNECT, RUN, HOST_STEP_LINK, 0x11, RUN),
    GOLDEN(MODE_IPV6, HOST_STEP_LINK, 0, HOST_STEP_LINK, 1, HOST_STEP_LINK, 0x12, HOST_STEP_LINK, 3,
           HOST_STEP_LINK, 0x14, HOST_STEP_LINK | CHANGED, 1, 1, 0, 60, 1, CONNECT, RUN),
    GOLDEN(0, HOST_STEP_RAW, 20, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 6, 0, 0),
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    return golden_copy(goldens, sizeof goldens / sizeof goldens[0], i, p);
}

void golden_check(void)
{
    const struct fuzz_host_counts *c = &fuzz_host_counts;

    CHECK(c->opened >= 24 && c->sent >= 15 && c->received >= 15 && c->checked >= 15 &&
          c->sealed >= 6);
    CHECK(c->failed >= 8 && c->forged >= 34 && c->dropped >= 15);
}

void golden_print(void)
{
    const struct fuzz_host_counts *c = &fuzz_host_counts;

    printf("connections %llu; requests: sent %llu received %llu compared %llu (sealed %llu); "
           "failed %llu; frames: "
           "forged %llu dropped %llu\n",
           (unsigned long long)c->opened, (unsigned long long)c->sent,
           (unsigned long long)c->received, (unsigned long long)c->checked,
           (unsigned long long)c->sealed, (unsigned long long)c->failed,
           (unsigned long long)c->forged, (unsigned long long)c->dropped);
}
