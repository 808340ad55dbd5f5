/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of one transfer. See sender.h.
 *
 * The first connection asks the receiver how many it takes (STREAMS), and sends meanwhile. The
 * others are opened when the answer is there, to the same address. They show whose they are (JOIN),
 * and carry requests once the receiver has taken them (JOIN). One that cannot be opened, or is lost
 * while nothing is under way on it, is given up, and the others go on. If requests are lost with
 * it, so is the transfer.
 *
 * The receiver reads requests in turn, so those on one connection wait for those on another. Each
 * has at most its part of all requests in flight, also while the others are still being opened:
 * what the first took then, all would wait for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "sluice/say.h"
#include "sluice/sender/sender.h"

/* A connection begins with memory that is not there yet, and a grant that is not known. It pays if
 * so many times its requests in flight are to be sent on it. */
#define WORTH_TIMES 8

/* Memory of one connection besides the first: its JOIN, then the receiver's. */
#define JOIN_BYTES (2 * RECORD_HEADER_BYTES)

#define STREAM_WHERE_MAX 384

/* How many connections cores and size suggest. More than the daemon has workers do not make it
 * faster, and while a worker polls, it needs a core that this program cannot have. */
static uint32_t streams_suggested(const struct sender *s)
{
    uint64_t each = (uint64_t)WORTH_TIMES * s->options->slots * RECORD_DATA_MAX;
    uint64_t worth = s->total_bytes / each, workers = sluice_channels(s->loop.session);
    long cores = sysconf(_SC_NPROCESSORS_ONLN) / 2;

    worth = worth < workers ? worth : workers;
    if (cores < 1 || worth < 1)
        return 1;
    worth = worth < (uint64_t)cores ? worth : (uint64_t)cores;
    return worth < RECORD_STREAMS_MAX ? (uint32_t)worth : RECORD_STREAMS_MAX;
}

void sender_broken(struct sender *s, int err)
{
    if (s->status != 0)
        return;
    s->status = err;
    sender_failed(s, say_error(say_code(err, true), "%s", sluice_error(s->loop.session)));
}

int sender_streams_begin(struct sender *s)
{
    struct sender_streams *m = &s->streams;

    m->wanted = s->options->streams > 0 ? s->options->streams : streams_suggested(s);
    m->n = 1;
    if (m->wanted > 1 && getrandom(m->token, sizeof m->token, 0) != (ssize_t)sizeof m->token)
        return say_error(SAY_LOCAL, "the kernel gives no random numbers; see getrandom(2)");
    return SAY_OK;
}

void sender_streams_ask(struct sender *s)
{
    struct record r = {.type = RECORD_STREAMS, .size = s->streams.wanted};

    if (s->streams.wanted == 1)
        return;
    memcpy(r.hash, s->streams.token, sizeof r.hash);
    pack_add(&s->pack, &r, NULL);
}

static uint8_t *stream_memory(const struct sender *s, uint32_t i)
{
    return s->answers + (uint64_t)SENDER_ANSWERS * RECORD_ANSWER_MAX + (uint64_t)i * JOIN_BYTES;
}

/* Posts the receive of a connection besides the first. 0 or a negative errno. */
static int stream_listen(const struct sender *s, const struct sender_stream *t)
{
    uint8_t *memory = stream_memory(s, (uint32_t)(t - s->streams.list));

    return sluice_recv(t->conn, memory + RECORD_HEADER_BYTES, RECORD_HEADER_BYTES,
                       SENDER_USER_OTHER);
}

/* Gives a connection up. */
static void stream_drop(struct sender *s, struct sender_stream *t)
{
    struct sluice_stats stats;

    s->limits.streams -= t->open;
    sluice_conn_stats(t->conn, &stats);
    stats.tx_rate_Bps = stats.rx_rate_Bps = stats.rx_momentary_Bps = 0; /* it has none any more */
    stats_add(&s->streams.past, &stats);
    sluice_conn_close(t->conn);
    *t = (struct sender_stream){.shut = true, .ended = true};
}

/* The address of the first connection, and the service: a name may have several addresses. */
static void stream_where(const struct sender *s, char where[STREAM_WHERE_MAX])
{
    const char *host = s->options->host, *colon = strrchr(host, ':'), *end;
    struct sluice_stats stats;

    sluice_conn_stats(s->conn, &stats);
    end = strrchr(stats.peer, ':');
    if (end == NULL) /* it is over already */
        snprintf(where, STREAM_WHERE_MAX, "%s", host);
    else
        snprintf(where, STREAM_WHERE_MAX, "%.*s%s", (int)(end - stats.peer), stats.peer,
                 colon != NULL && strchr(colon, ']') == NULL ? colon : "");
}

/* Opens list[i]. False: the session has no room for it. */
static bool stream_open(struct sender *s, uint32_t i, const char *where)
{
    const struct sender_options *o = s->options;
    struct record join = {.type = RECORD_JOIN, .size = i + 1};
    struct sender_stream *t = &s->streams.list[i];
    uint8_t *memory = stream_memory(s, i);
    int err = sluice_connect(s->loop.session, where, o->go_back_n ? SLUICE_GO_BACK_N : 0,
                             SENDER_USER_OTHER, &t->conn);

    if (err < 0)
        return false;
    memcpy(join.hash, s->streams.token, sizeof join.hash);
    record_encode(memory, &join);
    err = sluice_send(t->conn, memory, RECORD_HEADER_BYTES, SENDER_USER_OTHER);
    if (err == 0)
        err = stream_listen(s, t);
    if (err < 0)
        stream_drop(s, t);
    return err == 0;
}

bool sender_streams_heard(struct sender *s, const struct record *r, const char **why)
{
    struct sender_streams *m = &s->streams;
    char where[STREAM_WHERE_MAX];

    *why = "connections that nobody has asked for";
    if (m->wanted == 1 || m->heard || r->size > m->wanted || !copy_same_token(r->hash, m->token))
        return false;
    m->heard = true;
    if (!s->end_sent && r->size > 1)
        stream_where(s, where);
    while (m->n < r->size && !s->end_sent && stream_open(s, m->n, where))
        m->n++;
    return true;
}

/* How many requests one connection may have in flight. */
static uint32_t streams_part(const struct sender *s)
{
    const struct sender_streams *m = &s->streams;
    uint32_t i, n = m->heard ? 1 : m->wanted; /* with the first one */

    for (i = 1; i < m->n && m->heard; i++)
        n += m->list[i].conn != NULL;
    return n == 0 ? 0 : (s->buffers.most + n - 1) / n;
}

struct sender_stream *sender_streams_choose(struct sender *s)
{
    struct sender_streams *m = &s->streams;
    struct sender_stream *best = NULL;
    uint32_t i, at = m->last;

    for (i = 1; i <= m->n; i++) {
        struct sender_stream *t = &m->list[(m->last + i) % m->n];

        if (t->open && (best == NULL || t->in_flight < best->in_flight)) {
            best = t;
            at = (m->last + i) % m->n;
        }
    }
    if (best == NULL || best->in_flight >= streams_part(s))
        return NULL;
    m->last = at;
    return best;
}

void sender_streams_sent(struct sender *s, struct sender_stream *t, uint64_t buffer)
{
    buffers_give(&s->buffers, (uint32_t)buffer);
    t->in_flight--;
    s->in_flight--;
}

/* A connection besides the first has failed. lost: with a request. */
static void stream_failed(struct sender *s, struct sender_stream *t, int status, bool lost)
{
    if (!lost && t->in_flight == 0) {
        stream_drop(s, t);
        sender_streams_limit(s, s->limits.own_Bps);
    } else if (s->status == 0 || s->status == -ECANCELED) {
        s->status = status;
    }
}

/* The receiver has taken a connection. Everything else it says on the first one. */
static void stream_heard(struct sender *s, struct sender_stream *t, uint64_t len)
{
    const uint8_t *memory = stream_memory(s, (uint32_t)(t - s->streams.list));
    const char *why;
    struct record r;
    bool right = record_decode(memory + RECORD_HEADER_BYTES, len, &r, &why) == 0;

    right = right && r.type == RECORD_JOIN && copy_same_token(r.hash, s->streams.token);
    if (!right || t->open || stream_listen(s, t) < 0) {
        stream_failed(s, t, -EPROTO, false);
        return;
    }
    t->open = true;
    s->limits.streams++;
    sender_streams_limit(s, s->limits.own_Bps);
}

void sender_streams_completion(struct sender *s, const struct sluice_completion *c)
{
    struct sender_streams *m = &s->streams;
    bool request = c->op == SLUICE_OP_SEND && c->user < BUFFERS_MAX;
    struct sender_stream *t = NULL;
    uint32_t i;

    for (i = 1; i < m->n; i++) {
        if (m->list[i].conn == c->conn)
            t = &m->list[i];
    }
    if (t == NULL)
        return; /* it was given up meanwhile */
    if (request)
        sender_streams_sent(s, t, c->user);
    if (c->op == SLUICE_OP_RECV && c->status == 0) {
        stream_heard(s, t, c->len);
    } else if (c->op == SLUICE_OP_RECV && c->status == -ENODATA) {
        t->ended = true;
    } else if (c->status < 0) {
        stream_failed(s, t, c->status, request);
    } else if (c->op == SLUICE_OP_SHUTDOWN) {
        t->shut = true;
    }
}

void sender_streams_limit(struct sender *s, uint64_t rate_Bps)
{
    struct sender_streams *m = &s->streams;
    uint64_t n = 0, part;
    uint32_t i;

    for (i = 0; i < m->n; i++)
        n += m->list[i].open;
    part = n == 0 ? 0 : rate_Bps / n;
    for (i = 0; i < m->n; i++) {
        struct sender_stream *t = &m->list[i];
        int err = 0;

        if (t->open && t->limit_Bps != part) {
            err = sluice_limit(t->conn, part, 0);
            t->limit_Bps = part;
        }
        if (err < 0)
            sender_broken(s, err);
    }
}

void sender_streams_stats(const struct sender *s, struct sluice_stats *sum)
{
    const struct sender_streams *m = &s->streams;
    struct sluice_stats stats;
    uint32_t i;

    sluice_conn_stats(s->conn, sum);
    stats_add(sum, &m->past);
    for (i = 1; i < m->n; i++) {
        if (m->list[i].conn == NULL)
            continue;
        sluice_conn_stats(m->list[i].conn, &stats);
        stats_add(sum, &stats);
    }
}

void sender_streams_shut(struct sender *s)
{
    struct sender_streams *m = &s->streams;
    uint32_t i;

    for (i = 1; i < m->n; i++) {
        struct sender_stream *t = &m->list[i];

        if (t->conn != NULL && (!t->open || sluice_shutdown(t->conn, SENDER_USER_OTHER) < 0))
            stream_failed(s, t, -ENOTCONN, false);
    }
}

bool sender_streams_over(const struct sender *s)
{
    bool over = true;
    uint32_t i;

    for (i = 1; i < s->streams.n; i++)
        over &= s->streams.list[i].shut && s->streams.list[i].ended;
    return over;
}

void sender_streams_close(struct sender *s)
{
    struct sender_streams *m = &s->streams;

    while (m->n > 1) {
        m->n--;
        if (m->list[m->n].conn != NULL)
            sluice_conn_close(m->list[m->n].conn);
    }
    sluice_conn_close(s->conn);
}
