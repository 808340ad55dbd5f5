/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_rings.c: each operation, as it should be and not, and each fault. */
#include <stdio.h>

#include "base/check.h"
#include "client/protocol.h"
#include "fuzz_golden.h"
#include "fuzz_rings.h"
#include "sluiced/session/channel.h"

#define POLL          RINGS_STEP_POLL | 3 << 4
#define TAKE          RINGS_STEP_TAKE
#define B             8
#define SUBMIT        RINGS_STEP_SUBMIT
#define LISTEN        RINGS_STEP_TELL | RINGS_LISTEN << 4, 7, RINGS_STEP_POLL
#define UNLISTEN      RINGS_STEP_TELL | RINGS_UNLISTEN << 4, 7, RINGS_STEP_POLL
#define ADD(id)       RINGS_STEP_TELL | RINGS_ADD << 4, id, RINGS_STEP_POLL
#define DROP(id)      RINGS_STEP_TELL | RINGS_DROP << 4, id, RINGS_STEP_POLL
#define ACCEPT(h)     SUBMIT, PROTOCOL_ACCEPT, 0, h, 7
#define CONNECT(h)    SUBMIT, PROTOCOL_CONNECT, 0, h, 7
#define PAIR          LISTEN, ADD(1), ADD(2), ACCEPT(0), CONNECT(1), POLL, TAKE
#define NONE          0, 0, 0
/* region, offset, length */
#define SEND(h, ...)  SUBMIT, PROTOCOL_SEND, 0, h, __VA_ARGS__
#define EARLY(h, ...) SUBMIT, PROTOCOL_SEND, PROTOCOL_PROVISIONAL, h, __VA_ARGS__
#define RECV(h, ...)  SUBMIT, PROTOCOL_RECV, 0, h, __VA_ARGS__
#define SHUTDOWN(h)   SUBMIT, PROTOCOL_SHUTDOWN, 0, h, NONE
#define CLOSE(h)      SUBMIT, PROTOCOL_CLOSE, 0, h, NONE
#define LIMIT(h, ...) SUBMIT, PROTOCOL_LIMIT, 0, h, __VA_ARGS__

const uint64_t golden_runs = 4000;

static const struct fuzz_golden goldens[] = {
    GOLDEN(PAIR, SEND(1, 1, 0, 100, NONE), RECV(0, 2, 200, 100), POLL, POLL, TAKE, SHUTDOWN(1),
           RECV(0, 2, 0, 10), POLL, TAKE, CLOSE(0), CLOSE(1), POLL, POLL, TAKE, UNLISTEN, DROP(1)),
    GOLDEN(PAIR, EARLY(1, 1, 0, 50, 1, 50, 50), RECV(0, 2, 200, 100), POLL, POLL, TAKE, DROP(1),
           CLOSE(1), POLL, TAKE, RINGS_STEP_SLEEP),
    /* too long a request, memory in use, another client's connection */
    GOLDEN(PAIR, RECV(0, 1, 0, 100), POLL, DROP(1), SEND(1, 2, 0, 200, NONE), POLL, POLL, TAKE,
           DROP(2)),
    GOLDEN(LISTEN, ADD(1), RINGS_STEP_TELL | B | RINGS_ADD << 4, 1, ACCEPT(0), SUBMIT | B,
           PROTOCOL_CONNECT, 0, 0, 7, POLL, SUBMIT | B, PROTOCOL_SEND, 0, 0, 1, 0, 9, NONE,
           RECV(0, 1, 0, 100), POLL, POLL, TAKE, TAKE | B),
    /* nobody listens; three quarters of the connections */
    GOLDEN(CONNECT(0), ACCEPT(1), POLL, POLL, TAKE, CLOSE(0), CLOSE(1), POLL, TAKE),
    GOLDEN(SUBMIT | B, PROTOCOL_CONNECT, 0, 0, 7, SUBMIT | B, PROTOCOL_CONNECT, 0, 1, 7, SUBMIT | B,
           PROTOCOL_CONNECT, 0, 2, 7, SUBMIT | B, PROTOCOL_CONNECT, 0, 3, 7, CONNECT(0), CONNECT(1),
           CONNECT(2), POLL, TAKE, TAKE | B),
    /* malformed: pieces outside of a region, a handle in use or free, flags, operations */
    GOLDEN(PAIR, SEND(1, 1, 1, 100, NONE), SEND(1, 9, 0, 1, NONE), SEND(1, 1, 101, 1, NONE),
           RECV(1, 1, 0, 0xf0, 101), CONNECT(1), SEND(3, NONE, NONE), SUBMIT, 9, 0, 0, NONE, SUBMIT,
           PROTOCOL_RECV, 2, 0, NONE, POLL, TAKE),
    GOLDEN(PAIR, SUBMIT | 16, PROTOCOL_SEND, 0, 1, 1, 0, 9, NONE, 1, 0, 28, 1, POLL, TAKE),
    /* limits: zero, sent, received; of a free handle, and with a field that is not zero */
    GOLDEN(PAIR, LIMIT(1, 0, 200, 100),
           LIMIT(0, 0, 0xf7, 255, 255, 255, 255, 255, 255, 255, 255, 0), POLL,
           SEND(1, 1, 0, 100, NONE), RECV(0, 2, 200, 100), LIMIT(3, NONE), LIMIT(0, 1, 0, 0), POLL,
           POLL, TAKE, CLOSE(0), LIMIT(0, NONE), POLL, TAKE),
    /* faults */
    GOLDEN(RINGS_STEP_INDEX, 17, POLL, TAKE),
    GOLDEN(RINGS_STEP_INDEX, 16, RINGS_STEP_INDEX | 16, 17, POLL, POLL, RINGS_STEP_INDEX, 16, POLL),
    GOLDEN(RINGS_STEP_INDEX | 16, 1, RINGS_STEP_INDEX, 16, POLL, RINGS_STEP_INDEX, 16, POLL, POLL),
    GOLDEN(RINGS_STEP_WRITE, 0, 0, 4, 1, 2, 3, 4, POLL),
    GOLDEN(RINGS_STEP_WRITE, 3, 0, 8, 9, 9, 9, 9, 9, 9, 9, 9, RINGS_STEP_INDEX, 16, POLL, POLL),
};

/* The last one: malformed submissions without an end. */
static size_t flood_put(uint8_t *p)
{
    size_t len = 0;

    p[len++] = RINGS_STEP_WRITE;
    p[len++] = 3; /* sq begins at byte 768 */
    p[len++] = 0;
    p[len++] = 1;
    p[len++] = 9; /* no operation */
    for (int i = 0; i < 66; i++) {
        p[len++] = RINGS_STEP_INDEX;
        p[len++] = 16;
        p[len++] = RINGS_STEP_POLL;
        p[len++] = TAKE;
    }
    return len;
}

size_t golden_put(unsigned int i, uint8_t *p)
{
    const unsigned int n = sizeof goldens / sizeof goldens[0];

    return i == n ? flood_put(p) : golden_copy(goldens, n, i, p);
}

void golden_check(void)
{
    const struct fuzz_rings_counts *c = &fuzz_rings_counts;

    for (int i = 0; i < PROTOCOL_OPS; i++)
        CHECK(c->submissions[i] > 0 && c->done[i] > 0);
    for (int i = RINGS_LISTEN; i <= RINGS_DROP; i++)
        CHECK(c->told[i] > 0);
    CHECK(c->faults[CHANNEL_FAULT_SQ_INDEX] > 0 && c->faults[CHANNEL_FAULT_CQ_INDEX] > 0);
    CHECK(c->faults[CHANNEL_FAULT_FLOOD] > 0);
    CHECK(c->busy > 0 && c->refused >= 10 && c->malformed >= 9);
}

void golden_print(void)
{
    const struct fuzz_rings_counts *c = &fuzz_rings_counts;

    printf("completions: SEND %llu RECV %llu, refused %llu, of these malformed %llu; faults %llu "
           "%llu %llu\n",
           (unsigned long long)c->done[PROTOCOL_SEND], (unsigned long long)c->done[PROTOCOL_RECV],
           (unsigned long long)c->refused, (unsigned long long)c->malformed,
           (unsigned long long)c->faults[CHANNEL_FAULT_SQ_INDEX],
           (unsigned long long)c->faults[CHANNEL_FAULT_CQ_INDEX],
           (unsigned long long)c->faults[CHANNEL_FAULT_FLOOD]);
}
