/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs for fuzz_session.c: each request, as it should be and not. */
#include <stdio.h>

#include "base/check.h"
#include "client/protocol.h"
#include "fuzz_golden.h"
#include "fuzz_session.h"

#define POLL               SESSION_STEP_POLL | 3 << 5
#define READ               SESSION_STEP_READ
#define CONNECT            SESSION_STEP_CONNECT | 0x20
#define OPEN               SESSION_STEP_CONNECT | 0x60, 0, 12, POLL, READ
#define CLIENT(i)          (i) << 3
#define REQUEST(type, how) SESSION_STEP_REQUEST, PROTOCOL_##type, how
#define REGION(pages)      REQUEST(REGION, SESSION_FD_RIGHT), (pages)-1, POLL, READ
#define LISTEN(service)    REQUEST(LISTEN, 0), service, POLL
#define SUBMIT             SESSION_STEP_SUBMIT
#define CLOSE              SESSION_STEP_CLOSE

const uint64_t golden_runs = 1200;

static const struct fuzz_golden goldens[] = {
    GOLDEN(CONNECT, 0, POLL, READ, REQUEST(SESSION, SESSION_FD_RIGHT), 12, POLL, READ, CLOSE, POLL),
    GOLDEN(OPEN, REGION(2), LISTEN(7), REQUEST(UNREGION, 0), 0, REQUEST(UNLISTEN, 0), 7, POLL,
           READ),
    /* a connection of two handles: request, receive, shutdown, close */
    GOLDEN(OPEN, REGION(1), LISTEN(7), SUBMIT, PROTOCOL_ACCEPT, 0, 0, 7, SUBMIT, PROTOCOL_CONNECT,
           0, 1, 7, POLL, SUBMIT, PROTOCOL_SEND, 0, 1, 0, 0, 100, SUBMIT, PROTOCOL_RECV, 0, 0, 0,
           200, 100, POLL, POLL, SUBMIT, PROTOCOL_SHUTDOWN, 0, 1, POLL, SUBMIT, PROTOCOL_CLOSE, 0,
           1, POLL, REQUEST(UNREGION, 0), 0, POLL, READ),
    GOLDEN(OPEN, REQUEST(ROUTE, 0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1,
           REQUEST(ROUTE, 0), 1, 2, 3, POLL, READ),
    GOLDEN(OPEN, REQUEST(SHOW, 0), 0, REQUEST(SHOW, 0), 64, REQUEST(SHOW, 0), 128, POLL, READ,
           REQUEST(SHOW, 0), 200, REQUEST(SHOW, SESSION_PATCHED), 0, 1, 0, 16, 9, POLL, READ),
    GOLDEN(OPEN, REQUEST(COMMAND, SESSION_LONGER), 9, 9, REQUEST(RING, 0), 1, REQUEST(RING, 0), 9,
           POLL, READ),
    /* two clients want one service, a third is too many */
    GOLDEN(OPEN, (CONNECT) | 0x40 | CLIENT(1), 0, 0, POLL, LISTEN(7),
           SESSION_STEP_REQUEST | CLIENT(1), PROTOCOL_LISTEN, 0, 7, (CONNECT) | CLIENT(2), 0, POLL,
           READ, READ | CLIENT(1), READ | CLIENT(2)),
    /* one worker has no room for a third service, and no service can be 0 */
    GOLDEN(OPEN, LISTEN(7), LISTEN(8), LISTEN(9), LISTEN(0), REQUEST(UNLISTEN, 0), 5, POLL, READ),
    /* memory: too much, refused by ports, of other kinds, in use */
    GOLDEN(OPEN, REGION(31), REGION(31), REGION(3), READ),
    GOLDEN(OPEN, REQUEST(REGION, SESSION_FD_NONE), 0, REQUEST(REGION, SESSION_FD_SHORT), 1,
           REQUEST(REGION, SESSION_FD_UNSEALABLE), 0, REQUEST(REGION, SESSION_FD_READ_ONLY), 0,
           REQUEST(REGION, SESSION_FD_DEVICE), 0, REQUEST(REGION, SESSION_FD_SOCKET), 0, POLL, POLL,
           READ),
    GOLDEN(OPEN, REGION(1), LISTEN(7), SUBMIT, PROTOCOL_ACCEPT, 0, 0, 7, SUBMIT, PROTOCOL_RECV, 0,
           0, 0, 0, 99, POLL, REQUEST(UNREGION, 0), 0, POLL, READ, CLOSE),
    GOLDEN(CONNECT, 0, REQUEST(SESSION, SESSION_FD_NONE), 0, REQUEST(SESSION, SESSION_FD_SHORT), 15,
           POLL, READ, REQUEST(SESSION, SESSION_FD_RIGHT | SESSION_PATCHED), 0, 1, 0, 8, 1, POLL,
           READ),
    /* captures: of a port that is there and not, into memory that is there and not; the memory
       stays until the session ends */
    GOLDEN(OPEN, REGION(2), REGION(1), REQUEST(CAPTURE, 0), 0, 1, 100, POLL, READ,
           REQUEST(CAPTURE, 0), 0, 0, 100, REQUEST(CAPTURE, 0), 1, 2, 100, REQUEST(CAPTURE, 0), 7,
           0, 100, POLL, REQUEST(UNREGION, 0), 0, REQUEST(UNREGION, 0), 1, POLL, READ, CLOSE, POLL),
    GOLDEN(OPEN, REQUEST(SESSION, SESSION_FD_RIGHT), 0, POLL, READ),
    GOLDEN(CONNECT, 0, REGION(1), LISTEN(7), READ),
    /* what ends a session: no HELLO, another version, two descriptors, a BYE, an odd length,
       indices */
    GOLDEN(SESSION_STEP_CONNECT, REQUEST(SHOW, 0), 0, POLL, READ),
    GOLDEN(SESSION_STEP_CONNECT, REQUEST(HELLO, SESSION_PATCHED), 0, 1, 0, 4, 7, POLL, READ),
    GOLDEN(OPEN, REQUEST(REGION, SESSION_FD_TWO), 0, POLL, READ),
    GOLDEN(OPEN, REQUEST(HELLO, SESSION_FD_DEVICE), 0, POLL, READ),
    GOLDEN(OPEN, REQUEST(BYE, 0), 0, POLL, READ),
    GOLDEN(OPEN, REQUEST(HELLO, SESSION_LONGER), 0, 1, POLL, READ),
    GOLDEN(OPEN, SESSION_STEP_RAW, 0, 3, 1, 2, 3, POLL, READ),
    GOLDEN(OPEN, SESSION_STEP_RAW, SESSION_FD_DEVICE, 0, POLL, READ),
    GOLDEN(OPEN, SESSION_STEP_WRITE, 0, 0, 4, 9, 9, 9, 9, POLL, POLL, READ),
    GOLDEN(OPEN, SESSION_STEP_WRITE, 1, 128, 4, 9, 9, 9, 9, SUBMIT, 9, 9, 9, POLL, POLL, READ),
};

size_t golden_put(unsigned int i, uint8_t *p)
{
    return golden_copy(goldens, sizeof goldens / sizeof goldens[0], i, p);
}

void golden_check(void)
{
    const struct fuzz_session_counts *c = &fuzz_session_counts;

    for (int i = PROTOCOL_HELLO; i <= PROTOCOL_CAPTURE; i++)
        CHECK(c->requests[i] > 0);
    for (int i = PROTOCOL_HELLO; i <= PROTOCOL_CAPTURE; i++)
        CHECK(i == PROTOCOL_BYE || i == PROTOCOL_RING || c->answers[i] > 0);
    CHECK(c->refused >= 15 && c->byes >= 8 && c->submissions >= 9 && c->completions >= 6);
}

void golden_print(void)
{
    const struct fuzz_session_counts *c = &fuzz_session_counts;

    printf("sessions %llu, regions %llu, services %llu; refused %llu, BYE %llu; submissions %llu, "
           "completions %llu\n",
           (unsigned long long)c->answers[PROTOCOL_SESSION],
           (unsigned long long)c->answers[PROTOCOL_REGION],
           (unsigned long long)c->answers[PROTOCOL_LISTEN], (unsigned long long)c->refused,
           (unsigned long long)c->byes, (unsigned long long)c->submissions,
           (unsigned long long)c->completions);
}
