/* SPDX-License-Identifier: BSD-3-Clause */
/* One sender at the receiver: its connection. */
#include "sluice/transfer/inlet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/say.h"

/* `user` of submissions: a slot, or one of these. */
enum {
    USER_ANSWER = 1000, /* + slot of answers */
    USER_ACCEPT = 2000,
    USER_SHUTDOWN,
};

uint64_t inlet_bytes(uint32_t n_slots)
{
    return (uint64_t)n_slots * PACK_BYTES + ANSWERS_BYTES;
}

int inlet_init(struct inlet *in, struct sluice *session, struct sink *sink, uint32_t n_slots,
               uint8_t *memory)
{
    memset(in, 0, sizeof *in);
    in->session = session;
    in->sink = sink;
    in->n_slots = n_slots;
    in->memory = memory;
    return part_init(&in->part);
}

void inlet_fini(struct inlet *in)
{
    part_fini(&in->part);
    answers_fini(&in->answers);
    summary_fini(&in->summary);
}

static uint8_t *inlet_slot(const struct inlet *in, uint32_t i)
{
    return in->memory + (uint64_t)i * PACK_BYTES + PACK_FIRST;
}

/* Posts the slot behind those that wait or are posted. */
static int inlet_post(struct inlet *in)
{
    uint32_t i = (in->head + in->n_ready + in->posted) % in->n_slots;
    int err = sluice_recv(in->conn, inlet_slot(in, i), RECORD_REQUEST_MAX, i);

    if (err == 0)
        in->posted++;
    return err;
}

int inlet_accept(struct inlet *in, uint16_t port, uint32_t channel)
{
    uint32_t i;
    int err = summary_init(&in->summary, false);

    if (err < 0)
        return err;
    in->channel = channel;
    in->head = in->n_ready = in->posted = 0;
    in->at_bytes = in->file = 0;
    in->in_file = in->skipping = false;
    in->proved = in->served = in->end_all = in->shutting = in->shut = false;
    in->part.made.n = 0;
    in->no_more = in->peer_ended = false;
    in->status = in->code = 0;
    answers_init(&in->answers, in->memory + (uint64_t)in->n_slots * PACK_BYTES);
    err = sluice_accept(in->session, port, channel, USER_ACCEPT, &in->conn);
    for (i = 0; i < in->n_slots && err == 0; i++)
        err = inlet_post(in);
    if (err < 0 && in->conn != NULL)
        sluice_conn_close(in->conn);
    if (err < 0) {
        in->conn = NULL;
        summary_fini(&in->summary);
        return err;
    }
    in->state = INLET_WAITING;
    return 0;
}

static void inlet_broken(struct inlet *in, int status)
{
    if (in->status == 0 || in->status == -ECANCELED)
        in->status = status;
}

void inlet_complete(struct inlet *in, const struct sluice_completion *c)
{
    switch (c->op) {
    case SLUICE_OP_ACCEPT:
        in->state = c->status == 0 ? INLET_OPEN : INLET_OVER;
        in->summary.start_ns = loop_now();
        break;
    case SLUICE_OP_RECV:
        in->posted--;
        in->proved |= c->status == 0 || c->status == -ENODATA || c->status == -EMSGSIZE;
        if (c->status == 0) {
            in->len[(in->head + in->n_ready) % in->n_slots] = c->len;
            in->n_ready++;
        } else if (c->status == -ENODATA) {
            in->no_more = true;
        }
        in->peer_ended = in->no_more && in->posted == 0;
        break;
    case SLUICE_OP_SEND:
        answers_sent(&in->answers, (uint32_t)c->user - USER_ANSWER);
        break;
    case SLUICE_OP_SHUTDOWN:
        in->shut = true;
        break;
    default:
        break;
    }
    if (c->status < 0 && c->status != -ENODATA)
        inlet_broken(in, c->status);
}

/* What the sender's requests cannot be: ends the connection. */
static void inlet_nonsense(struct inlet *in, const char *why)
{
    struct sluice_stats t;

    sluice_conn_stats(in->conn, &t);
    inlet_failed(in,
                 say_error(SAY_TRANSFER,
                           "%s: the sender sends what makes no sense (%s); use the same version "
                           "of sluice on both sides",
                           t.peer, why));
    in->status = -EPROTO;
}

/* Reads one record of the request at head. Bytes of work done. */
static uint64_t inlet_step(struct inlet *in)
{
    const uint8_t *at = inlet_slot(in, in->head) + in->at_bytes;
    const char *why;
    struct record r;

    if (record_decode(at, in->len[in->head] - in->at_bytes, &r, &why) < 0 ||
        inlet_record(in, &r, at + RECORD_HEADER_BYTES, &why) < 0) {
        inlet_nonsense(in, why);
        return 0;
    }
    in->at_bytes += RECORD_HEADER_BYTES + r.len_bytes;
    return RECORD_HEADER_BYTES + r.len_bytes + (r.type == RECORD_HOLE ? r.size : 0);
}

static void inlet_pass(struct inlet *in)
{
    int err;

    in->at_bytes = 0;
    in->head = (in->head + 1) % in->n_slots;
    in->n_ready--;
    err = in->no_more || in->status != 0 ? 0 : inlet_post(in);
    if (err < 0)
        inlet_broken(in, err);
}

/* All files are read and answered: our direction ends, then the connection. */
static void inlet_wind_up(struct inlet *in)
{
    int err = 0;

    if (in->end_all && !in->shutting && answers_empty(&in->answers)) {
        in->shutting = true;
        in->summary.end_ns = loop_now();
        err = sluice_shutdown(in->conn, USER_SHUTDOWN);
    }
    if (err < 0)
        inlet_broken(in, err);
    if (in->peer_ended && !in->end_all)
        inlet_broken(in, -ECONNRESET); /* in good order, but too early */
    if (in->status != 0 || (in->shut && in->peer_ended))
        in->state = INLET_OVER;
}

bool inlet_work(struct inlet *in, uint64_t max_bytes)
{
    uint64_t done = 0;
    int err;

    if (in->state != INLET_OPEN)
        return false;
    /* What arrived before the connection broke still counts. */
    while (in->n_ready > 0 && done < max_bytes && !answers_many(&in->answers) &&
           in->status != -EPROTO && loop_signal() == 0) {
        done += inlet_step(in);
        if (in->at_bytes == in->len[in->head])
            inlet_pass(in);
    }
    err = in->status == 0 ? answers_send(&in->answers, in->conn, USER_ANSWER) : 0;
    if (err < 0)
        inlet_broken(in, err);
    if (in->n_ready > 0 && in->status != -EPROTO)
        return !answers_many(&in->answers);
    inlet_wind_up(in);
    return false;
}

/* The connection ended before its files did. */
static void inlet_mourn(struct inlet *in)
{
    const char *cause =
        in->status == -ENOTCONN ? sluice_error(in->session) : sluice_status_text(in->status);
    const char *peer = in->summary.stats.peer;
    char safe[512];

    text_safe(safe, sizeof safe, in->name);
    if (loop_signal() != 0)
        inlet_failed(in, 128 + loop_signal());
    else if (in->status != 0 && in->code == SAY_OK && in->in_file && !in->skipping)
        inlet_failed(in, say_error(say_code(in->status, true), "%s from %s: not whole%s: %s", safe,
                                   peer, in->part.fd >= 0 ? ", removed" : "", cause));
    else if (in->status != 0 && in->code == SAY_OK)
        inlet_failed(in, say_error(say_code(in->status, true), "%s: %s", peer, cause));
}

void inlet_close(struct inlet *in)
{
    sluice_conn_stats(in->conn, &in->summary.stats);
    if (in->served && !in->end_all)
        inlet_mourn(in);
    if (in->summary.end_ns == 0)
        in->summary.end_ns = loop_now();
    part_discard(&in->part);
    answers_fini(&in->answers);
    sluice_conn_close(in->conn);
    in->conn = NULL;
    in->state = INLET_IDLE;
}
