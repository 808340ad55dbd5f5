/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice perf client: opens the streams, agrees with the server on each, says GO on all of them at
 * once, keeps requests outstanding until the end, and collects both sides' figures.
 *
 * A stream's states only go forward; a phase begins when every stream has reached it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "console/text.h"
#include "sluice/perf/meter.h"
#include "sluice/perf/perf.h"
#include "sluice/perf/perf_result.h"
#include "sluice/perf/perf_stream.h"
#include "sluice/say.h"

#define COMPLETIONS 64
#define GRANT_WAIT_NS                                                                              \
    50000000u /* how long to wait for the first grant, where it decides the request size */

enum stream_state {
    STREAM_CONNECTING,
    STREAM_OPEN,
    STREAM_ASKING, /* START sent */
    STREAM_READY,
    STREAM_RUNNING,
    STREAM_OVER, /* both directions have ended */
};

struct stream {
    enum stream_state state;
    struct perf_stream stream;
    bool shutting, shut;
    struct perf_report report;
    bool reported;
};

struct client {
    const struct perf_config *config;
    struct loop loop;
    struct regions regions;
    struct stream *streams;
    struct sluice_conn *conns[PERF_STREAMS_MAX];
    struct perf_start start; /* what all streams share */
    uint64_t open_ns;
    struct meter meter;
    struct perf_result result;
    int status, code;
};

static void client_failed(struct client *c, int code)
{
    if (c->code == SAY_OK)
        c->code = code;
}

/* Ends the test if libsluice refused a call (err < 0). */
static void client_broken(struct client *c, int err, bool opened)
{
    if (err < 0 && c->status == 0) {
        c->status = err;
        client_failed(c, say_error(say_code(err, opened), "%s", sluice_error(c->loop.session)));
    }
}

static bool client_all(const struct client *c, enum stream_state state)
{
    uint32_t i;

    for (i = 0; i < c->config->streams; i++) {
        if (c->streams[i].state < state)
            return false;
    }
    return true;
}

static void client_connect(struct client *c)
{
    uint32_t i, n = c->config->streams;
    uint8_t *control = sluice_alloc(c->loop.session, (uint64_t)n * PERF_STREAM_CONTROL_BYTES);

    if (control == NULL) {
        client_broken(c, -ENOMEM, true);
        return;
    }
    for (i = 0; i < n && c->status == 0; i++) {
        struct perf_stream *p = &c->streams[i].stream;

        p->control = control + (uint64_t)i * PERF_STREAM_CONTROL_BYTES;
        client_broken(c,
                      sluice_connect(c->loop.session, c->config->host,
                                     c->config->go_back_n ? SLUICE_GO_BACK_N : 0, PERF_STREAM_OPEN,
                                     &p->conn),
                      false);
        c->conns[i] = p->conn;
        if (p->conn != NULL)
            client_broken(
                c, sluice_recv(p->conn, p->control, PERF_STREAM_PAGE, PERF_STREAM_CONTROL), true);
    }
    c->open_ns = loop_now();
}

/* The rate that the peer granted us, or, with --reverse, that we granted it; 0: not yet known. */
static uint64_t client_rate(const struct client *c)
{
    struct sluice_stats s;

    sluice_conn_stats(c->conns[0], &s);
    return c->config->reverse ? s.rx_rate_Bps : s.tx_rate_Bps;
}

/* Bytes of a request: a power of two, PERF_REQUEST_MIN to PERF_REQUEST_MAX. As many as move in 50
 * to 100 ms, since requests outstanding at the end delay the end; fewer if memory is short. */
static uint64_t client_request(const struct client *c)
{
    const struct perf_config *o = c->config;
    uint64_t bytes = PERF_REQUEST_MAX, rate_Bps = client_rate(c);
    uint64_t room = o->memory_bytes / o->streams / (o->outstanding + 1);

    while (bytes > PERF_REQUEST_MIN &&
           (bytes > room || (rate_Bps != 0 && bytes / 2 > rate_Bps / 20)))
        bytes /= 2;
    return bytes;
}

static void client_parameters(struct client *c)
{
    const struct perf_config *o = c->config;
    struct perf_start *s = &c->start;
    uint32_t depth = sluice_depth(c->loop.session);

    if (getrandom(&s->test, sizeof s->test, 0) != sizeof s->test)
        s->test = loop_now();
    s->streams = o->streams;
    s->flags = (o->reverse ? 0 : PERF_CLIENT_SENDS) |
               (o->reverse || o->bidir ? PERF_SERVER_SENDS : 0) | (o->check ? PERF_CHECK : 0);
    s->request_bytes = o->request_given ? o->request_bytes : client_request(c);
    s->outstanding = o->outstanding < depth ? o->outstanding : depth;
    s->duration_ns = o->duration_ns;
    s->memory_bytes = o->memory_bytes / o->streams;
    c->result.parameters = *s;
    c->result.parameters.limit_bytes = o->total_bytes / o->streams;
    c->result.go_back_n = o->go_back_n;
    c->result.sync = o->sync;
}

/* Takes the stream's memory, then sends START. */
static void client_ask(struct client *c, uint32_t i)
{
    struct stream *st = &c->streams[i];
    struct perf_record r = {.type = PERF_START};
    struct perf_stream_shape shape = {
        .tx = (c->start.flags & PERF_CLIENT_SENDS) != 0,
        .rx = (c->start.flags & PERF_SERVER_SENDS) != 0,
        .seed = c->start.test + i,
        .check = c->config->check,
        .request_bytes = c->start.request_bytes,
        .memory_bytes = c->start.memory_bytes,
        .outstanding = (uint32_t)c->start.outstanding,
    };

    r.u.start = c->start;
    r.u.start.stream = i;
    /* The first stream takes the remainder. */
    r.u.start.limit_bytes = c->config->total_bytes / c->config->streams +
                            (i == 0 ? c->config->total_bytes % c->config->streams : 0);
    if (c->config->total_bytes != 0 && r.u.start.limit_bytes == 0) {
        c->status = -EINVAL;
        client_failed(c, say_error(SAY_USAGE, "--bytes: fewer bytes than streams; give more"));
        return;
    }
    shape.limit_bytes = r.u.start.limit_bytes;
    if (perf_stream_init(&st->stream, &c->regions, &shape, 1) < 0) {
        client_broken(c, -ENOMEM, true);
        return;
    }
    r.u.start.slices = shape.tx ? st->stream.tx.slices : 0;
    c->result.memory_bytes += shape.tx ? st->stream.tx.region_bytes : st->stream.rx.region_bytes;
    client_broken(c, perf_stream_tell(&st->stream, 4, &r), true);
    st->state = STREAM_ASKING;
}

static void client_go(struct client *c)
{
    struct perf_record r = {.type = PERF_GO};
    uint64_t now;
    uint32_t i;

    for (i = 0; i < c->config->streams && c->status == 0; i++)
        client_broken(c, perf_stream_post(&c->streams[i].stream), true);
    now = loop_now();
    perf_result_start(&c->result, now);
    meter_start(&c->meter, now, c->config->streams, (c->start.flags & PERF_CLIENT_SENDS) != 0,
                (c->start.flags & PERF_SERVER_SENDS) != 0);
    for (i = 0; i < c->config->streams && c->status == 0; i++) {
        struct perf_stream *p = &c->streams[i].stream;

        client_broken(c, perf_stream_tell(p, 5, &r), true);
        p->tx.start_ns = p->rx.start_ns = now;
        if (c->start.duration_ns != 0)
            p->deadline_ns = now + c->start.duration_ns;
        c->streams[i].state = STREAM_RUNNING;
    }
}

/* READY has come: it says how many slices the server cycles through. */
static void client_ready(struct client *c, struct stream *st, uint64_t len)
{
    struct perf_record r;
    const char *why;

    if (perf_decode(st->stream.control, len, PERF_READY, &r, &why) < 0) {
        c->status = -EPROTO;
        client_failed(c, say_error(SAY_TRANSFER,
                                   "%s: invalid answer from the server (%s); use the same version "
                                   "of sluice on both sides",
                                   c->config->host, why));
        return;
    }
    st->stream.rx.peer_slices = r.u.ready.slices;
    st->state = STREAM_READY;
}

/* The server has ended: its last request is the report. */
static void client_report(struct stream *st)
{
    struct perf_record r;
    const char *why;
    uint64_t len;
    const uint8_t *bytes = perf_stream_rx_end(&st->stream, true, &len);

    if (bytes == NULL || perf_decode(bytes, len, PERF_REPORT, &r, &why) < 0)
        return;
    st->report = r.u.report;
    st->reported = true;
}

static void client_completion(struct client *c, struct stream *st,
                              const struct sluice_completion *e)
{
    uint64_t now = loop_now();

    if (e->op == SLUICE_OP_RECV && e->status == -ENODATA) {
        if (st->state < STREAM_RUNNING)
            c->status = -ECONNRESET;
        perf_stream_no_more(&st->stream);
    } else if (e->status < 0) {
        if (c->status == 0 || c->status == -ECANCELED)
            c->status = e->status;
    } else if (e->op == SLUICE_OP_CONNECT) {
        st->state = STREAM_OPEN;
    } else if (e->op == SLUICE_OP_SHUTDOWN) {
        st->shut = true;
    } else if (e->op == SLUICE_OP_SEND && e->user == PERF_STREAM_DATA) {
        perf_stream_sent(&st->stream, e->len, now);
    } else if (e->op == SLUICE_OP_RECV && st->state == STREAM_ASKING) {
        client_ready(c, st, e->len);
    } else if (e->op == SLUICE_OP_RECV && st->state >= STREAM_READY) {
        perf_stream_received(&st->stream, e->len, now);
    }
}

/* Takes completions; true if there were any. */
static bool client_take(struct client *c)
{
    struct sluice_completion e[COMPLETIONS];
    int i, n = sluice_poll(c->loop.session, e, COMPLETIONS, 0);
    uint32_t k;

    if (n < 0 && c->status == 0)
        c->status = n;
    for (i = 0; i < n; i++) {
        for (k = 0; c->conns[k] != e[i].conn; k++)
            ;
        client_completion(c, &c->streams[k], &e[i]);
    }
    return n > 0;
}

/* Sends synchronously until meter_sample() is due, or all data are sent. */
static void client_sync(struct client *c, struct perf_stream *p)
{
    const uint8_t *data;
    uint64_t len, due = meter_next(&c->meter);
    int err = 0;

    while (err == 0 && loop_now() < due && loop_signal() == 0 &&
           perf_stream_next(p, loop_now(), &data, &len)) {
        err = sluice_send_sync(p->conn, data, len);
        if (err == 0) {
            perf_stream_sending(p, len);
            perf_stream_sent(p, len, loop_now());
        }
    }
    if (err == 0 && !perf_stream_next(p, loop_now(), &data, &len)) {
        err = sluice_flush(p->conn);
        p->tx.end_ns = loop_now();
    }
    if (err < 0)
        c->status = err;
}

/* Keeps a running stream busy, ends it when it is done. */
static void client_feed(struct client *c, struct stream *st)
{
    uint64_t now = loop_now();
    int err = 0;

    if (st->state == STREAM_OVER)
        return;
    if (c->config->sync && !st->shutting)
        client_sync(c, &st->stream);
    else
        err = perf_stream_send(&st->stream, now);
    if (err == 0)
        err = perf_stream_post(&st->stream);
    if (err == 0 && !st->shutting && perf_stream_tx_done(&st->stream, loop_now())) {
        st->shutting = true;
        err = sluice_shutdown(st->stream.conn, PERF_STREAM_SHUTDOWN);
    }
    client_broken(c, err, true);
    if (st->shut && st->stream.rx.ended) {
        st->state = STREAM_OVER;
        client_report(st);
    }
}

/* Begins a phase once all streams have completed the previous one; feeds running streams. */
static void client_work(struct client *c)
{
    uint32_t i, n = c->config->streams;

    if (client_all(c, STREAM_RUNNING)) {
        for (i = 0; i < n && c->status == 0; i++)
            client_feed(c, &c->streams[i]);
    } else if (client_all(c, STREAM_READY)) {
        client_go(c);
    } else if (client_all(c, STREAM_OPEN) && c->streams[0].state == STREAM_OPEN &&
               (c->config->request_given || client_rate(c) != 0 ||
                loop_now() > c->open_ns + GRANT_WAIT_NS)) {
        client_parameters(c);
        for (i = 0; i < n && c->status == 0; i++)
            client_ask(c, i);
    }
}

/* Until when to wait if nothing completes, ns; UINT64_MAX: no limit. */
static uint64_t client_next(const struct client *c)
{
    uint64_t now = loop_now(), next = meter_next(&c->meter), deadline;

    if (client_all(c, STREAM_OPEN) && c->streams[0].state == STREAM_OPEN)
        return now + 1000000; /* look for the first grant */
    if (!client_all(c, STREAM_RUNNING))
        return client_all(c, STREAM_READY) ? now : UINT64_MAX;
    deadline = c->streams[0].stream.deadline_ns;
    if (deadline > now && deadline < next)
        next = deadline;
    if (c->config->sync && !c->streams[0].shutting)
        return now;
    return next;
}

static void client_loop(struct client *c)
{
    while (c->status == 0 && !client_all(c, STREAM_OVER)) {
        if (loop_signal() != 0) {
            client_failed(c, 128 + loop_signal());
            return;
        }
        client_work(c);
        meter_sample(&c->meter, loop_now(), c->conns, c->config->streams, false);
        if (!client_take(c) && c->status == 0 && !client_all(c, STREAM_OVER))
            loop_wait_until(&c->loop, -1, client_next(c));
    }
    if (c->status != 0 && c->code == SAY_OK) {
        bool opened = client_all(c, STREAM_OPEN);

        client_failed(c, say_error(say_code(c->status, opened), "%s: %s", c->config->host,
                                   c->status == -ENOTCONN ? sluice_error(c->loop.session)
                                                          : sluice_status_text(c->status)));
    }
}

/* Collects and prints what both sides measured. */
static void client_conclude(struct client *c)
{
    uint64_t now = loop_now();
    uint32_t i;

    meter_sample(&c->meter, now, c->conns, c->config->streams, true);
    perf_result_end(&c->result, now);
    for (i = 0; i < c->config->streams; i++) {
        struct stream *st = &c->streams[i];
        struct perf_side tx, rx;
        struct sluice_stats stats;

        sluice_conn_stats(st->stream.conn, &stats);
        perf_stream_figures(&st->stream, true, &stats, &tx);
        perf_stream_figures(&st->stream, false, &stats, &rx);
        perf_result_add(&c->result, &tx, &rx, &stats, st->reported ? &st->report : NULL);
        if (c->code == SAY_OK && !st->reported)
            client_failed(c, say_error(SAY_TRANSFER,
                                       "%s: the server ended without a report; check its output",
                                       c->config->host));
        if (rx.wrong_bytes + (st->reported ? st->report.rx.wrong_bytes : 0) > 0)
            client_failed(c, say_error(SAY_TRANSFER,
                                       "%s: bytes arrived that were not sent; check the memory of "
                                       "both sides and the path",
                                       c->config->host));
    }
    c->result.exit_code = c->code;
    if (c->config->common.json)
        perf_result_json(&c->result, c->meter.intervals);
    else
        perf_result_print(&c->result);
}

int perf_client(const struct perf_config *config)
{
    struct client c = {.config = config};
    uint32_t i;

    c.streams = calloc(config->streams, sizeof *c.streams);
    if (c.streams == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    c.code = meter_open(&c.meter, config->interval_ns,
                        !config->common.quiet && !config->common.json, config->common.rates);
    if (c.code == SAY_OK)
        c.code = loop_open(&c.loop, config->common.socket);
    if (c.code == SAY_OK) {
        regions_init(&c.regions, c.loop.session);
        client_connect(&c);
    }
    if (c.code == SAY_OK)
        client_loop(&c);
    if (c.result.start_ns != 0)
        client_conclude(&c);
    for (i = 0; i < config->streams && c.conns[i] != NULL; i++)
        sluice_conn_close(c.conns[i]);
    loop_close(&c.loop);
    client_failed(&c, meter_close(&c.meter));
    client_failed(&c, say_flush());
    perf_result_free(&c.result);
    free(c.streams);
    return c.code;
}
