/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the senders of a receiver are allowed: one limit holds for all of them together. It is
 * divided each second, and whenever a sender comes or goes. Connections that share a transfer have
 * equal parts of what their sender gets, since its requests are read in turn. A connection that
 * waits for a sender has the part that the sender would get. So has a peer that has not proved its
 * address: if it counted, forged packets would take the parts of senders.
 *
 * Until the next division, senders that have just come may take more than the whole together.
 */
#include "sluice/transfer/receiver.h"

#include "sluice/say.h"

#define DIVIDE_NS 1000000000ull

/* Finds what is allowed to all together: at the port that carries most. Returns an exit code. */
static int whole_find(struct receiver *r)
{
    uint64_t max_Bps = 0;
    uint32_t i;

    for (i = 0; i < r->n_senders; i++) {
        const struct incoming *in = r->senders[i];
        uint64_t port = r->port_Bps;
        int code;

        if (in->state == INCOMING_IDLE)
            continue;
        code = allowance_port(&r->options->allowance, in->conn, &port);
        if (code != SAY_OK)
            return code;
        max_Bps = port > max_Bps ? port : max_Bps;
    }
    r->port_Bps = max_Bps != 0 ? max_Bps : r->port_Bps;
    r->allowed_Bps = allowance_rate(&r->allowance, r->port_Bps);
    return SAY_OK;
}

/* Tells the daemon of one connection's limit. Returns an exit code. */
static int limit_set(struct receiver *r, struct incoming *in, uint64_t rate_Bps)
{
    int err = in->limit_Bps == rate_Bps ? 0 : sluice_limit(in->conn, 0, rate_Bps);

    if (err < 0)
        return say_error(say_code(err, true), "%s", sluice_error(r->loop.session));
    in->limit_Bps = rate_Bps;
    return SAY_OK;
}

static bool limit_divides(const struct incoming *in)
{
    return in->state != INCOMING_IDLE && in->state != INCOMING_WAITING &&
           in->state != INCOMING_JOINED && in->proved;
}

/* Bytes that have come on all connections of a transfer. */
static uint64_t came_bytes(const struct incoming *in)
{
    struct sluice_stats stats;
    uint64_t bytes;
    uint32_t i;

    sluice_conn_stats(in->conn, &stats);
    bytes = stats.rx_bytes;
    for (i = 0; i < in->streams.n; i++) {
        sluice_conn_stats(in->streams.joined[i]->conn, &stats);
        bytes += stats.rx_bytes;
    }
    return bytes;
}

/* Divides the part of a transfer among its connections. Returns an exit code. */
static int part_set(struct receiver *r, struct incoming *in, uint64_t part_Bps)
{
    uint64_t each_Bps = part_Bps / (in->streams.n + 1);
    int code = limit_set(r, in, each_Bps);
    uint32_t i;

    for (i = 0; i < in->streams.n && code == SAY_OK; i++)
        code = limit_set(r, in->streams.joined[i], each_Bps);
    return code;
}

/* Divides what is allowed among the peers that have proved their address. Returns their number. */
static uint32_t parts_find(struct receiver *r, uint64_t passed_ns,
                           struct allowance_part parts[RECEIVER_INCOMING_MAX])
{
    uint32_t i, n = 0;

    for (i = 0; i < r->n_senders; i++) {
        struct incoming *in = r->senders[i];
        uint64_t bytes;

        if (!limit_divides(in))
            continue;
        bytes = came_bytes(in);
        parts[n++] = (struct allowance_part){
            .used_Bps =
                (uint64_t)((double)(bytes - in->limited_bytes) * 1e9 / (double)(passed_ns + 1)),
            .part_Bps = in->limited_bytes == 0 ? 0 : in->limit_Bps * (in->streams.n + 1),
        };
        in->limited_bytes = bytes;
    }
    allowance_divide(r->allowed_Bps, parts, n);
    return n;
}

int receiver_limit(struct receiver *r)
{
    struct allowance_part parts[RECEIVER_INCOMING_MAX];
    uint64_t now = loop_now();
    uint32_t i, k, n, turn;
    int code;

    r->divide_ns = UINT64_MAX;
    allowance_update(&r->allowance, &r->options->allowance);
    if (!allowance_limits(&r->options->allowance))
        return SAY_OK;
    code = whole_find(r);
    n = parts_find(r, now - r->divided_ns, parts);
    r->divided_ns = now;
    if (n > 1)
        r->divide_ns = now + DIVIDE_NS;
    /* First those that get less, so that the sum is not above the whole. */
    for (turn = 0; turn < 2; turn++)
        for (i = k = 0; i < r->n_senders && code == SAY_OK; i++) {
            struct incoming *in = r->senders[i];
            uint64_t part = r->allowed_Bps / (n + 1);

            if (in->state == INCOMING_IDLE || in->state == INCOMING_JOINED)
                continue;
            if (limit_divides(in))
                part = parts[k++].part_Bps;
            if (r->allowed_Bps == 0)
                part = 0;
            if (turn == 1 || in->limit_Bps == 0 || part / (in->streams.n + 1) < in->limit_Bps)
                code = part_set(r, in, part);
        }
    return code;
}
