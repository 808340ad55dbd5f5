/* SPDX-License-Identifier: BSD-3-Clause */
/* The program of libsluice(3): "example" receives one request, "example HOST TEXT" sends one. */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include <sluice.h>

#define LEN_BYTES 65536

static struct sluice_completion next(struct sluice *s)
{
    struct sluice_completion done;

    if (sluice_poll(s, &done, 1, -1) < 0)
        errx(1, "%s", sluice_error(s));
    if (done.status < 0)
        errx(1, "%s", sluice_status_text(done.status));
    return done;
}

int main(int argc, char **argv)
{
    struct sluice_conn *conn;
    struct sluice *s;
    char why[256], *data;
    uint32_t i;

    if (sluice_open(&s, NULL, why, sizeof why) < 0)
        errx(1, "%s", why);
    data = sluice_alloc(s, LEN_BYTES);
    if (data == NULL || (argc != 3 && sluice_listen(s, SLUICE_PORT_DEFAULT) < 0))
        errx(1, "%s", sluice_error(s));
    if (argc == 3) {
        snprintf(data, LEN_BYTES, "%s", argv[2]);
        if (sluice_connect(s, argv[1], 0, 0, &conn) < 0 ||
            sluice_send(conn, data, strlen(data) + 1, 0) < 0 || sluice_shutdown(conn, 0) < 0)
            errx(1, "%s", sluice_error(s));
        for (i = 0; i < 3; i++) /* connected, sent, confirmed */
            next(s);
    } else {
        for (i = 0; i < sluice_channels(s); i++)
            if (sluice_accept(s, SLUICE_PORT_DEFAULT, i, 0, &conn) < 0)
                errx(1, "%s", sluice_error(s));
        conn = next(s).conn;
        if (sluice_recv(conn, data, LEN_BYTES, 0) < 0)
            errx(1, "%s", sluice_error(s));
        printf("%.*s\n", (int)next(s).len, data);
    }
    sluice_close(s);
    return 0;
}
