/* SPDX-License-Identifier: BSD-3-Clause */
/* One sender, as the receiver sees it: its connection. See incoming.h. */
#include "sluice/transfer/incoming.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/say.h"

/* `user` of submissions: a receive's buffer, INCOMING_USER_ANSWER, or one of these. */
enum {
    USER_ACCEPT = 2000,
    USER_SHUTDOWN,
};

int incoming_init(struct incoming *in, struct sluice *session, struct destination *destination,
                  uint32_t n_slots)
{
    memset(in, 0, sizeof *in);
    in->session = session;
    in->destination = destination;
    in->slots = n_slots;
    buffers_init(&in->buffers, session, n_slots);
    storage_begin(&in->behind, -1, -1, NULL);
    basis_init(&in->basis);
    return part_file_init(&in->part);
}

void incoming_fini(struct incoming *in)
{
    part_file_fini(&in->part);
    basis_fini(&in->basis);
    name_set_fini(&in->sync.names);
    settle_fini(&in->sync.settle);
    link_files_fini(&in->sync.links);
    result_queue_fini(&in->results);
    summary_fini(&in->summary);
}

/* Makes the memory with which a connection begins: so many requests can be on the way. 0 or a
 * negative errno. */
static int incoming_memory(struct incoming *in, uint32_t requests)
{
    uint8_t *results = in->results.memory;
    int err = 0;

    if (results == NULL)
        results = sluice_alloc(in->session, RESULT_QUEUE_BYTES);
    if (results == NULL)
        return -errno;
    result_queue_init(&in->results, results);
    while (err == 0 && in->buffers.n < requests && in->buffers.n < in->buffers.most)
        err = buffers_grow(&in->buffers);
    buffers_give_all(&in->buffers);
    return in->buffers.n > 0 ? 0 : err;
}

int incoming_accept(struct incoming *in, uint16_t port, uint32_t channel, uint32_t requests)
{
    int err;

    in->buffers.most = in->slots;
    err = incoming_memory(in, requests);
    if (err == 0)
        err = summary_init(&in->summary, false);
    if (err < 0)
        return err;
    in->channel = channel;
    in->head = in->n_ready = in->posted = in->n_passed = 0;
    memset(in->passed, 0, sizeof in->passed);
    in->at_bytes = in->file = in->asked = in->divided_bytes = 0;
    in->in_file = in->skipping = in->telling = false;
    in->part.cleaned = (struct stat){0};
    name_set_fini(&in->sync.names);
    incoming_sync_begin(in);
    incoming_streams_begin(in);
    in->part.owner[0] = 0;
    in->proved = in->served = in->end_all = in->shutting = in->shut = false;
    in->part.made.n = 0;
    in->no_more = in->peer_ended = false;
    in->status = in->code = 0;
    err = sluice_accept(in->session, port, channel, USER_ACCEPT, &in->conn);
    if (err == 0)
        err = incoming_post(in);
    if (err < 0 && in->conn != NULL)
        sluice_conn_close(in->conn);
    if (err < 0) {
        in->conn = NULL;
        summary_fini(&in->summary);
        return err;
    }
    in->state = INCOMING_WAITING;
    return 0;
}

/* Notes whose files come: what one sender has left is not resumed for another, which would be told
 * what is in it. The two ends of a copy belong to one user, but a near end that receives may do so
 * from several hosts, and so may a far end that receives from another one. */
static void incoming_note_owner(struct incoming *in)
{
    char *owner = in->part.owner, *port, name[SLUICE_PEER_MAX];
    struct sluice_stats t;

    if (in->copy != NULL) {
        const char *from = in->copy->host != NULL ? in->copy->host : in->copy->origin;

        snprintf(owner, sizeof in->part.owner, "copy %s", from != NULL ? from : "");
    } else if (sluice_peer(in->conn, name, sizeof name) == 0) {
        snprintf(owner, sizeof in->part.owner, "peer %s", name);
    } else {
        sluice_conn_stats(in->conn, &t);
        if (t.peer[0] == 0)
            return; /* the connection is over already */
        snprintf(owner, sizeof in->part.owner, "address %s", t.peer);
        port = strrchr(owner, ':');
        if (port != NULL)
            *port = 0; /* each connection has another one */
    }
}

/* A full request has come, so the sender has more: it may have more of them on the way. */
static void incoming_widen(struct incoming *in, uint64_t len_bytes)
{
    int err;

    if (len_bytes <= RECORD_REQUEST_MAX / 2 || in->status != 0 || in->no_more)
        return;
    /* Without memory for more, those that there are have to do. */
    (void)!buffers_grow(&in->buffers);
    err = incoming_post(in);
    if (err < 0)
        incoming_stuck(in, err);
}

void incoming_complete(struct incoming *in, const struct sluice_completion *c)
{
    switch (c->op) {
    case SLUICE_OP_ACCEPT:
        in->state = c->status == 0 ? INCOMING_OPEN : INCOMING_OVER;
        in->summary.start_ns = loop_now();
        if (c->status == 0)
            incoming_note_owner(in);
        break;
    case SLUICE_OP_RECV:
        in->posted--;
        in->proved |= c->status == 0 || c->status == -ENODATA || c->status == -EMSGSIZE;
        if (c->status == 0) {
            in->len[(in->head + in->n_ready) % BUFFERS_MAX] = c->len;
            in->n_ready++;
            incoming_widen(in, c->len);
        } else if (c->status == -ENODATA) {
            in->no_more = true;
        }
        in->peer_ended = in->no_more && in->posted == 0;
        break;
    case SLUICE_OP_SEND:
        result_queue_sent(&in->results, (uint32_t)c->user - INCOMING_USER_ANSWER);
        break;
    case SLUICE_OP_SHUTDOWN:
        in->shut = true;
        break;
    default:
        break;
    }
    if (c->status < 0 && c->status != -ENODATA)
        incoming_broken(in, c->status);
}

/* The sender, for messages. */
static const char *incoming_peer(const struct incoming *in, const struct sluice_stats *t)
{
    return in->copy != NULL && in->copy->host != NULL ? in->copy->host : t->peer;
}

/* A record cannot be carried out: the sender broke the file protocol (-EPROTO), or memory is short
 * here (-ENOMEM). Ends its connection, with a message. */
static void incoming_refused(struct incoming *in, int err, const char *why)
{
    struct sluice_stats t;

    sluice_conn_stats(in->conn, &t);
    in->status = err;
    if (err == -ENOMEM)
        incoming_failed(in, say_error(SAY_RESOURCE,
                                      "%s: no memory for its data; end other programs here first",
                                      incoming_peer(in, &t)));
    else
        incoming_failed(in, say_error(SAY_TRANSFER,
                                      "%s: invalid data from the sender (%s); use the same version "
                                      "of sluice on both sides",
                                      incoming_peer(in, &t), why));
}

/* Carries out the next record of the request that is being read. Returns the bytes of work done; 0:
 * the connection ends. */
static uint64_t incoming_step(struct incoming *in)
{
    const struct incoming *from = in->streams.reading;
    const uint8_t *at = incoming_request(from) + in->at_bytes;
    const char *why;
    struct record r;
    int err = record_decode(at, from->len[from->head] - in->at_bytes, &r, &why);

    if (err == 0 && in->at_bytes > 0 && r.request != 0) {
        why = "a number within a request";
        err = -EPROTO;
    }
    if (err == 0)
        err = incoming_record(in, &r, at + RECORD_HEADER_BYTES, &why);
    if (err < 0) {
        incoming_refused(in, err == -ENOMEM ? err : -EPROTO, why);
        return 0;
    }
    in->at_bytes += RECORD_HEADER_BYTES + r.len_bytes;
    return RECORD_HEADER_BYTES + r.len_bytes +
           (r.type == RECORD_HOLE || r.type == RECORD_KEEP || r.type == RECORD_COPY ? r.size : 0);
}

void incoming_written(struct incoming *in, const struct storage_piece *p)
{
    enum record_code code;

    if (p->err < 0 && in->in_file && !in->skipping) {
        code = part_file_failed(&in->part, "writing", -p->err);
        if (incoming_refuse(in, code) < 0)
            incoming_refused(in, -ENOMEM, "");
    }
    incoming_streams_release(in);
}

/* Whether the next record has to wait until the sender has heard what there is of a file: lists
 * come in the order of the ASKs. */
static bool incoming_waits(const struct incoming *in)
{
    return in->status == 0 && (result_queue_many(&in->results) || basis_is_open(&in->basis));
}

/* Whether the next record has to wait until what came before it is written. A wrong one is refused
 * at its turn. */
static bool incoming_is_behind(const struct incoming *in)
{
    const struct incoming *from = in->streams.reading;
    const uint8_t *at = incoming_request(from) + in->at_bytes;
    struct record r = {0};
    const char *why;

    if (!storage_busy(&in->behind))
        return false;
    (void)!record_decode(at, from->len[from->head] - in->at_bytes, &r, &why);
    return !incoming_behind_takes(in, &r);
}

/* Shuts our direction down once all files are received and answered; sets INCOMING_OVER once both
 * directions have ended, or the connection broke. */
static void incoming_wind_up(struct incoming *in)
{
    int err = 0;

    if (in->end_all && !in->shutting && result_queue_empty(&in->results)) {
        in->shutting = true;
        in->summary.end_ns = loop_now();
        err = sluice_shutdown(in->conn, USER_SHUTDOWN);
        incoming_streams_shut(in, USER_SHUTDOWN);
    }
    if (err < 0)
        incoming_broken(in, err);
    if (incoming_streams_ended(in) && !in->end_all)
        incoming_broken(in, -ECONNRESET); /* the peer shut down in order, but before END_ALL */
    if (storage_busy(&in->behind) && in->status != -EPROTO)
        return; /* what has come is written nevertheless */
    if (in->status != 0 ||
        (in->shut && incoming_streams_are_shut(in) && incoming_streams_ended(in)))
        in->state = INCOMING_OVER;
}

int incoming_join(struct incoming *in)
{
    const char *why;
    struct record r;

    if (incoming_due(in) == NULL)
        return in->n_ready == 0 ? 0 : -EACCES;
    if (record_decode(incoming_request(in), in->len[in->head], &r, &why) < 0 ||
        r.type != RECORD_TOKEN || !copy_proves(in->copy, r.hash))
        return -EACCES;
    in->at_bytes = RECORD_HEADER_BYTES;
    if (in->at_bytes == in->len[in->head])
        incoming_pass(in);
    return 1;
}

bool incoming_work(struct incoming *in, uint64_t max_bytes)
{
    const struct incoming *from;
    uint64_t done = 0, told;
    bool due;
    int err;

    if (in->state != INCOMING_OPEN)
        return false;
    /* Requests that arrived before the connection broke are still read, but not answered: results
     * that nobody takes would fill the queue and keep the rest from being read. */
    while (done < max_bytes && in->status != -EPROTO && loop_code() == 0 &&
           (from = incoming_due(in)) != NULL && !incoming_is_behind(in) && !incoming_waits(in)) {
        if (in->status != 0) {
            result_queue_clear(&in->results);
            basis_close(&in->basis);
        }
        done += incoming_step(in);
        if (in->at_bytes == from->len[from->head])
            incoming_pass(in);
    }
    if (in->status == 0 && incoming_disordered(in))
        incoming_refused(in, -EPROTO, "a request out of order");
    incoming_streams_release(in);
    part_file_rest(&in->part); /* the tree may change until there is more */
    if (incoming_tell(in, &told) < 0)
        incoming_refused(in, -ENOMEM, "");
    err = in->status == 0 ? result_queue_send(&in->results, in->conn, INCOMING_USER_ANSWER) : 0;
    if (err < 0)
        incoming_broken(in, err);
    due = in->status != -EPROTO && incoming_due(in) != NULL;
    if (due && incoming_is_behind(in))
        return told > 0;
    if (due)
        return in->status != 0 || !result_queue_many(&in->results);
    incoming_wind_up(in);
    return told > 0;
}

/* Says why the connection ended before END_ALL, and sets the exit code. left: what has come of the
 * file waits for a later transfer. */
static void incoming_mourn(struct incoming *in, bool had_file, bool left)
{
    const char *cause =
        in->status == -ENOTCONN ? sluice_error(in->session) : sluice_status_text(in->status);
    const char *peer = incoming_peer(in, &in->summary.stats);
    const char *where = left ? ", kept for --resume" : had_file ? ", removed" : "";
    char safe[512];

    text_safe(safe, sizeof safe, in->name);
    if (loop_code() != 0) {
        incoming_failed(in, loop_code());
        if (left && !in->quiet && !copy_is_far(in->copy))
            say_note("%s from %s: incomplete%s", safe, peer, where);
    } else if (in->status != 0 && in->code == SAY_OK && in->in_file && !in->skipping) {
        incoming_failed(in, say_error(say_code(in->status, true), "%s from %s: incomplete%s: %s",
                                      safe, peer, where, cause));
    } else if (in->status != 0 && in->code == SAY_OK) {
        incoming_failed(in, say_error(say_code(in->status, true), "%s: %s", peer, cause));
    }
}

void incoming_close(struct incoming *in)
{
    bool had_file = in->part.fd >= 0, interrupted = in->served && !in->end_all;
    bool left;

    incoming_behind_cancel(in);
    left = interrupted && in->status != -EPROTO && part_file_leave(&in->part);
    part_file_discard(&in->part);
    basis_close(&in->basis);
    summary_take(&in->summary, in->conn);
    incoming_streams_close(in);
    if (interrupted)
        incoming_mourn(in, had_file, left);
    if (in->summary.end_ns == 0)
        in->summary.end_ns = loop_now();
    result_queue_fini(&in->results);
    sluice_conn_close(in->conn);
    in->conn = NULL;
    in->state = INCOMING_IDLE;
}
