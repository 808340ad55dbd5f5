/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two applications of libsluice: one gives up, and the other prints how its receives end.
 *
 *   giveup receive SOCKET            accepts one peer, posts four receives, prints how each ends
 *   giveup send SOCKET HOST HOW      sends one request, waits until it has arrived, then ends:
 *                                    HOW close, exit (without a call to the library), or shutdown
 *                                    (in order)
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/sluice.h"

#define LEN_BYTES 4096
#define RECEIVES  4

static struct sluice_completion next(struct sluice *s)
{
    struct sluice_completion done;

    if (sluice_poll(s, &done, 1, 30000) != 1)
        errx(2, "nothing completes: %s", sluice_error(s));
    return done;
}

static void receive(struct sluice *s, char *data)
{
    struct sluice_conn *conn;

    if (sluice_listen(s, SLUICE_PORT_DEFAULT) < 0)
        errx(2, "%s", sluice_error(s));
    for (uint32_t i = 0; i < sluice_channels(s); i++)
        if (sluice_accept(s, SLUICE_PORT_DEFAULT, i, 0, &conn) < 0)
            errx(2, "%s", sluice_error(s));
    conn = next(s).conn;
    for (uint64_t i = 0; i < RECEIVES; i++)
        if (sluice_recv(conn, data + i * LEN_BYTES, LEN_BYTES, i) < 0)
            errx(2, "%s", sluice_error(s));
    for (int i = 0; i < RECEIVES; i++) {
        struct sluice_completion c = next(s);

        printf("receive %d %s\n", (int)c.user, c.status == 0 ? "ok" : strerrorname_np(-c.status));
    }
}

static void send_one(struct sluice *s, char *data, const char *host, const char *how)
{
    struct sluice_conn *conn;

    if (sluice_connect(s, host, 0, 0, &conn) < 0 || sluice_send(conn, data, LEN_BYTES, 1) < 0)
        errx(2, "%s", sluice_error(s));
    for (int i = 0; i < 2; i++) { /* connected, sent */
        struct sluice_completion c = next(s);

        if (c.status != 0)
            errx(2, "%s", sluice_status_text(c.status));
    }
    if (strcmp(how, "exit") == 0)
        _exit(0);
    if (strcmp(how, "shutdown") == 0) {
        if (sluice_shutdown(conn, 2) < 0 || next(s).status != 0)
            errx(2, "no orderly end");
    } else if (sluice_conn_close(conn) < 0) {
        errx(2, "%s", sluice_error(s));
    }
}

int main(int argc, char **argv)
{
    struct sluice *s;
    char why[256], *data;

    if (argc != 3 && argc != 5)
        errx(2, "usage: giveup receive SOCKET | giveup send SOCKET HOST close|exit|shutdown");
    if (sluice_open(&s, argv[2], why, sizeof why) < 0)
        errx(2, "%s", why);
    data = sluice_alloc(s, RECEIVES * LEN_BYTES);
    if (data == NULL)
        errx(2, "%s", sluice_error(s));
    if (argc == 3)
        receive(s, data);
    else
        send_one(s, data, argv[3], argv[4]);
    sluice_close(s);
    return 0;
}
