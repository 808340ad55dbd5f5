/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a buffer through two daemons, and gets an answer.
 *
 *   buffer receive            waits for one buffer, and answers with the sum of its bytes
 *   buffer send HOST BYTES    sends that many bytes, and compares the answer
 *
 * Compile it with: cc buffer.c -o buffer $(pkg-config --cflags --libs libsluice)
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice.h>

#define BUFFER_MAX (1ull << 30)

static struct sluice *open_session(void)
{
    struct sluice *s;
    char why[256];

    if (sluice_open(&s, NULL, why, sizeof why) < 0)
        errx(1, "%s", why);
    return s;
}

/* Memory that the daemon reads and writes, too. */
static void *memory(struct sluice *s, uint64_t len_bytes)
{
    void *m = sluice_alloc(s, len_bytes);

    if (m == NULL)
        errx(1, "%s", sluice_error(s));
    return m;
}

static void must(struct sluice *s, int status)
{
    if (status < 0)
        errx(1, "%s", sluice_error(s));
}

/* Waits until an operation ends. A receive with status -ENODATA is no error: the peer has shut
 * down. */
static struct sluice_completion next(struct sluice *s)
{
    struct sluice_completion done;
    int n;

    while ((n = sluice_poll(s, &done, 1, -1)) == 0) /* 0: a signal came */
        ;
    must(s, n);
    if (done.status < 0 && !(done.op == SLUICE_OP_RECV && done.status == -ENODATA))
        errx(1, "%s", sluice_status_text(done.status));
    return done;
}

/* Waits for the end of an operation of this kind; takes the others on the way. */
static struct sluice_completion wait_for(struct sluice *s, enum sluice_op op)
{
    struct sluice_completion done;

    do
        done = next(s);
    while (done.op != op);
    return done;
}

/* Waits until the peer has everything, and has shut down as well. Then the end is clean. */
static void finish(struct sluice *s, struct sluice_conn *conn)
{
    struct sluice_completion done;
    bool shut = false, ended = false;

    must(s, sluice_recv(conn, NULL, 0, 0)); /* its end is that of the peer's data */
    must(s, sluice_shutdown(conn, 0));
    while (!shut || !ended) {
        done = next(s);
        shut |= done.op == SLUICE_OP_SHUTDOWN;
        ended |= done.op == SLUICE_OP_RECV && done.status == -ENODATA;
    }
    must(s, sluice_conn_close(conn));
    sluice_close(s);
}

static uint64_t sum_of(const uint8_t *bytes, uint64_t len)
{
    uint64_t sum = 0, i;

    for (i = 0; i < len; i++)
        sum += bytes[i];
    return sum;
}

static void receive(void)
{
    struct sluice *s = open_session();
    uint8_t *data = memory(s, BUFFER_MAX);
    uint64_t *answer = memory(s, sizeof *answer);
    struct sluice_conn *conn;
    uint64_t len;
    uint32_t i;

    must(s, sluice_listen(s, SLUICE_PORT_DEFAULT));
    for (i = 0; i < sluice_channels(s); i++) /* a peer may come to any worker of the daemon */
        must(s, sluice_accept(s, SLUICE_PORT_DEFAULT, i, 0, &conn));
    conn = wait_for(s, SLUICE_OP_ACCEPT).conn;
    must(s, sluice_recv(conn, data, BUFFER_MAX, 0));
    len = wait_for(s, SLUICE_OP_RECV).len;
    *answer = sum_of(data, len);
    must(s, sluice_send(conn, answer, sizeof *answer, 0));
    printf("%" PRIu64 " bytes, sum %" PRIu64 "\n", len, *answer);
    finish(s, conn);
}

static void transmit(const char *host, uint64_t len)
{
    struct sluice *s = open_session();
    uint8_t *data = memory(s, len);
    uint64_t *answer = memory(s, sizeof *answer), i;
    struct sluice_conn *conn;

    for (i = 0; i < len; i++)
        data[i] = (uint8_t)(i * i + i / 251);
    must(s, sluice_connect(s, host, 0, 0, &conn)); /* waits for nothing: requests follow at once */
    must(s, sluice_recv(conn, answer, sizeof *answer, 0));
    must(s, sluice_send(conn, data, len, 0));
    wait_for(s, SLUICE_OP_RECV);
    if (*answer != sum_of(data, len))
        errx(1, "the receiver's sum is %" PRIu64 ", not %" PRIu64, *answer, sum_of(data, len));
    printf("%" PRIu64 " bytes, sum %" PRIu64 "\n", len, *answer);
    finish(s, conn);
}

int main(int argc, char **argv)
{
    uint64_t len = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

    if (argc == 2 && strcmp(argv[1], "receive") == 0)
        receive();
    else if (argc == 4 && strcmp(argv[1], "send") == 0 && len > 0 && len <= BUFFER_MAX)
        transmit(argv[2], len);
    else
        errx(2, "usage: buffer receive | buffer send HOST BYTES (1 to %llu)", BUFFER_MAX);
    return 0;
}
