/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections of one transfer, and the order of the requests on them. See incoming.h. */
#include <errno.h>
#include <string.h>

#include "sluice/transfer/incoming.h"

#define JOINED_BUFFERS 2 /* of a connection, at least: one fills while the other is read */

/* ---- requests of one connection ------------------------------------------------------------ */

const uint8_t *incoming_request(const struct incoming *in)
{
    return in->buffers.at[in->buffer[in->head]] + PACK_FIRST;
}

int incoming_post(struct incoming *in)
{
    int i, err = 0;

    while (err == 0 && (i = buffers_take(&in->buffers)) >= 0) {
        err =
            sluice_recv(in->conn, in->buffers.at[i] + PACK_FIRST, RECORD_REQUEST_MAX, (uint64_t)i);
        if (err < 0) {
            buffers_give(&in->buffers, (uint32_t)i);
        } else {
            in->buffer[(in->head + in->n_ready + in->posted) % BUFFERS_MAX] = (uint8_t)i;
            in->posted++;
        }
    }
    return err;
}

/* Submits receives into the buffers that have become free. */
static void requests_refill(struct incoming *in)
{
    int err = in->no_more || in->status != 0 ? 0 : incoming_post(in);

    if (err < 0)
        incoming_stuck(in, err);
}

/* Gives back the buffer of the request at the head, unless a piece in it is being written. */
static void request_pass(struct incoming *in)
{
    uint8_t buffer = in->buffer[in->head];

    in->head = (in->head + 1) % BUFFERS_MAX;
    in->n_ready--;
    if (in->pieces[buffer].busy) {
        in->passed[buffer] = true;
        in->n_passed++;
        return;
    }
    buffers_give(&in->buffers, buffer);
    requests_refill(in);
}

/* Frees the buffers whose pieces are not being written any more. */
static void requests_release(struct incoming *in)
{
    uint32_t i, before = in->n_passed;

    for (i = 0; in->n_passed > 0 && i < BUFFERS_MAX; i++) {
        if (!in->passed[i] || in->pieces[i].busy)
            continue;
        in->passed[i] = false;
        in->n_passed--;
        buffers_give(&in->buffers, i);
    }
    if (in->n_passed < before)
        requests_refill(in);
}

/* The number of the request at the head, which is there. */
static uint64_t request_number(const struct incoming *in)
{
    return record_number_of(incoming_request(in), in->len[in->head]);
}

/* ---- all of them ---------------------------------------------------------------------------- */

void incoming_streams_begin(struct incoming *in)
{
    in->lead = NULL;
    in->streams = (struct incoming_streams){.most = in->streams.most, .next = INCOMING_UNNUMBERED};
}

/* Divides the buffers of a transfer among its connections. One keeps those that it has. */
static void streams_divide(const struct incoming *lead, struct incoming *in)
{
    uint32_t part = lead->slots / lead->streams.granted;

    part = part < JOINED_BUFFERS ? JOINED_BUFFERS : part;
    in->buffers.most = part < in->buffers.n ? in->buffers.n : part;
}

const char *incoming_streams_asked(struct incoming *in, const struct record *r)
{
    struct incoming_streams *s = &in->streams;

    if (s->granted != 0 || in->file != 0 || in->asked != 0)
        return "several connections are asked for after the first record";
    if (s->next != 1)
        return "several connections are asked for by a request without a number";
    s->granted = (uint32_t)r->size < s->most ? (uint32_t)r->size : s->most;
    if (s->granted == 0)
        s->granted = 1;
    memcpy(s->token, r->hash, sizeof s->token);
    return NULL;
}

void incoming_streams_answer(struct incoming *in, uint32_t most)
{
    struct record answer = {.type = RECORD_STREAMS};
    struct incoming_streams *s = &in->streams;

    if (s->granted == 0 || s->answered)
        return;
    s->answered = true;
    s->granted = s->granted < most ? s->granted : most;
    streams_divide(in, in);
    answer.size = s->granted;
    memcpy(answer.hash, s->token, sizeof answer.hash);
    if (result_queue_put(&in->results, &answer, NULL) < 0)
        s->granted = 1; /* without memory the sender does with one */
}

uint32_t incoming_streams_expected(const struct incoming *in)
{
    const struct incoming_streams *s = &in->streams;

    if (in->state != INCOMING_OPEN || in->status != 0 || in->end_all)
        return 0;
    if (s->next == INCOMING_UNNUMBERED)
        return 1;
    return s->granted > s->n + 1 ? s->granted - s->n - 1 : 0;
}

bool incoming_wants_to_join(const struct incoming *in)
{
    struct record r;
    const char *why;

    return in->n_ready > 0 && in->streams.next == INCOMING_UNNUMBERED &&
           record_decode(incoming_request(in), in->len[in->head], &r, &why) == 0 &&
           r.type == RECORD_JOIN;
}

bool incoming_attach(struct incoming *lead, struct incoming *in)
{
    struct incoming_streams *s = &lead->streams;
    struct record r;
    const char *why;
    int err;

    if (incoming_streams_expected(lead) == 0 || !s->answered ||
        record_decode(incoming_request(in), in->len[in->head], &r, &why) < 0 ||
        in->len[in->head] != RECORD_HEADER_BYTES || !copy_same_token(s->token, r.hash) ||
        strcmp(lead->part.owner, in->part.owner) != 0)
        return false;
    s->joined[s->n++] = in;
    in->lead = lead;
    in->state = INCOMING_JOINED;
    streams_divide(lead, in);
    request_pass(in);
    err = result_queue_put(&in->results, &r, NULL);
    if (err == 0)
        err = result_queue_send(&in->results, in->conn, INCOMING_USER_ANSWER);
    if (err < 0)
        incoming_broken(in, err);
    return true;
}

static bool is_due(const struct incoming *lead, const struct incoming *in)
{
    return in->n_ready > 0 && request_number(in) == lead->streams.next;
}

struct incoming *incoming_due(struct incoming *in)
{
    struct incoming_streams *s = &in->streams;
    uint32_t i;

    if (s->reading != NULL)
        return s->reading;
    if (s->next == INCOMING_UNNUMBERED && in->n_ready > 0)
        s->next = request_number(in) == 1;
    if (is_due(in, in))
        s->reading = in;
    for (i = 0; i < s->n && s->reading == NULL; i++) {
        if (is_due(in, s->joined[i]))
            s->reading = s->joined[i];
    }
    return s->reading;
}

/* Whether the request at the head will never be due: its turn is over, or there are no turns. */
static bool is_past(const struct incoming *lead, const struct incoming *in)
{
    uint64_t next = lead->streams.next;

    if (in->n_ready == 0 || in == lead->streams.reading)
        return false;
    return next == 0 ? request_number(in) != 0 : request_number(in) < next;
}

bool incoming_disordered(const struct incoming *in)
{
    const struct incoming_streams *s = &in->streams;
    bool past = s->next != INCOMING_UNNUMBERED && is_past(in, in);
    uint32_t i;

    for (i = 0; i < s->n; i++)
        past |= is_past(in, s->joined[i]);
    return past;
}

void incoming_pass(struct incoming *in)
{
    struct incoming *from = in->streams.reading;

    in->at_bytes = 0;
    in->streams.reading = NULL;
    in->streams.next += in->streams.next != 0;
    request_pass(from);
}

void incoming_streams_release(struct incoming *in)
{
    uint32_t i;

    requests_release(in);
    for (i = 0; i < in->streams.n; i++)
        requests_release(in->streams.joined[i]);
}

/* ---- their end ------------------------------------------------------------------------------ */

bool incoming_streams_ended(const struct incoming *in)
{
    bool ended = in->peer_ended;
    uint32_t i;

    for (i = 0; i < in->streams.n; i++)
        ended &= in->streams.joined[i]->peer_ended || in->streams.joined[i]->status != 0;
    return ended;
}

void incoming_streams_shut(struct incoming *in, uint64_t user)
{
    uint32_t i;

    for (i = 0; i < in->streams.n; i++) {
        struct incoming *joined = in->streams.joined[i];
        int err = joined->status == 0 ? sluice_shutdown(joined->conn, user) : 0;

        if (err < 0)
            incoming_broken(joined, err);
    }
}

bool incoming_streams_are_shut(const struct incoming *in)
{
    bool shut = true;
    uint32_t i;

    for (i = 0; i < in->streams.n; i++)
        shut &= in->streams.joined[i]->shut || in->streams.joined[i]->status != 0;
    return shut;
}

void incoming_streams_close(struct incoming *in)
{
    struct incoming_streams *s = &in->streams;

    in->summary.streams = s->n + 1;
    while (s->n > 0) {
        struct incoming *joined = s->joined[--s->n];

        summary_take(&joined->summary, joined->conn);
        stats_add(&in->summary.stats, &joined->summary.stats);
        summary_fini(&joined->summary);
        result_queue_fini(&joined->results);
        sluice_conn_close(joined->conn);
        joined->conn = NULL;
        joined->lead = NULL;
        joined->state = INCOMING_IDLE;
    }
    s->reading = NULL;
}
