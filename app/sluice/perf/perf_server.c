/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sluice perf server: waits for streams, does on each what its START says, reports what it
 * measured. Streams of the same test are summed; several tests may run at the same time.
 *
 * If a client breaks the protocol or goes away, only its stream ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/text.h"
#include "sluice/perf/meter.h"
#include "sluice/perf/perf.h"
#include "sluice/perf/perf_result.h"
#include "sluice/perf/perf_stream.h"
#include "sluice/say.h"

#define COMPLETIONS 64
#define TESTS_MAX   16
#define WAITING     16 /* accepts per channel: at most so many streams can come at once */
#define STREAMS_MAX METER_STREAMS

enum stream_state {
    STREAM_IDLE,
    STREAM_WAITING, /* accept submitted */
    STREAM_OPEN,    /* START is expected */
    STREAM_READY,   /* GO is expected */
    STREAM_RUNNING,
    STREAM_REPORTED,
};

struct test {
    bool used;
    uint32_t open, ended; /* streams */
    struct perf_result result;
};

struct stream {
    enum stream_state state;
    struct perf_stream stream;
    struct perf_start start;
    struct test *test;
    uint32_t channel;
    bool shut;
    int status;
};

struct server {
    const struct perf_config *config;
    struct loop loop;
    struct regions regions;
    struct stream streams[STREAMS_MAX];
    struct sluice_conn *conns[STREAMS_MAX]; /* of running streams, for the meter */
    struct test tests[TESTS_MAX];
    struct meter meter;
    uint32_t ended; /* tests that have ended */
    int code;
};

static void server_failed(struct server *s, int code)
{
    if (s->code == SAY_OK)
        s->code = code;
}

/* The session refused a call (-EACCES: this user may not accept on the service), or ended: prints
 * the error, once. */
static void server_broken(struct server *s, int err)
{
    if (s->code == SAY_OK)
        s->code = say_error(err == -EACCES ? SAY_RESOURCE : say_code(err, true), "%s",
                            sluice_error(s->loop.session));
}

/* Submits an accept on the channel with an idle stream, if there is one. 0 or a negative errno. */
static int server_accept(struct server *s, uint32_t channel)
{
    struct stream *st = s->streams;
    struct perf_stream *p;
    int err;

    while (st < s->streams + STREAMS_MAX && st->state != STREAM_IDLE)
        st++;
    if (st == s->streams + STREAMS_MAX)
        return 0; /* server_listen() tries again when a stream has ended */
    p = &st->stream;
    err = sluice_accept(s->loop.session, s->config->port, channel, PERF_STREAM_OPEN, &p->conn);
    if (err == 0)
        err = sluice_recv(p->conn, p->control, PERF_STREAM_PAGE, PERF_STREAM_CONTROL);
    if (err == 0)
        err = sluice_recv(p->conn, p->control + PERF_STREAM_PAGE, PERF_STREAM_PAGE,
                          PERF_STREAM_CONTROL);
    if (err < 0) {
        if (p->conn != NULL)
            sluice_conn_close(p->conn);
        p->conn = NULL;
        return err;
    }
    st->channel = channel;
    st->state = STREAM_WAITING;
    st->shut = false;
    st->status = 0;
    st->test = NULL;
    return 0;
}

static void server_listen(struct server *s)
{
    uint32_t channel, i, waiting;
    int err = 0;

    for (channel = 0; channel < sluice_channels(s->loop.session) && err == 0; channel++) {
        waiting = 0;
        for (i = 0; i < STREAMS_MAX; i++)
            waiting += s->streams[i].state == STREAM_WAITING && s->streams[i].channel == channel;
        for (; waiting < WAITING && err == 0; waiting++)
            err = server_accept(s, channel);
    }
    if (err < 0)
        server_broken(s, err);
}

/* The test that the stream belongs to; NULL: too many tests at once, or streams of this test. */
static struct test *server_test(struct server *s, const struct perf_start *start)
{
    struct test *t, *free_one = NULL;

    for (t = s->tests; t < s->tests + TESTS_MAX; t++) {
        if (!t->used)
            free_one = t;
        else if (t->result.parameters.test == start->test)
            return t->open < start->streams ? t : NULL;
    }
    if (free_one == NULL)
        return NULL;
    memset(free_one, 0, sizeof *free_one);
    free_one->used = true;
    free_one->result.server = true;
    free_one->result.parameters = *start;
    return free_one;
}

/* An accept failed: ignores a peer that went away; any other reason ends the server. */
static void server_refused(struct server *s, int status)
{
    if (status == -ENOTCONN)
        server_broken(s, status);
    else if (status != -ECONNRESET && status != -ETIMEDOUT && status != -ECANCELED)
        server_failed(s, say_error(say_code(status, true), "%s", sluice_status_text(status)));
}

/* Ends the stream, with a line that says why. */
static void stream_refuse(struct stream *st, const char *why)
{
    struct sluice_stats stats;

    sluice_conn_stats(st->stream.conn, &stats);
    say_error(SAY_TRANSFER, "%s: %s", stats.peer, why);
    st->status = -EPROTO;
}

static void stream_start(struct server *s, struct stream *st, uint64_t len)
{
    struct perf_record r;
    struct perf_stream_shape shape = {0};
    const char *why;
    char line[128];

    if (perf_decode(st->stream.control, len, PERF_START, &r, &why) < 0) {
        snprintf(line, sizeof line,
                 "its request is invalid (%s); use the same version of sluice there", why);
        stream_refuse(st, line);
        return;
    }
    st->start = r.u.start;
    st->test = server_test(s, &st->start);
    if (st->test == NULL) {
        stream_refuse(st, "too many tests at once; wait until others have ended");
        return;
    }
    st->test->open++;
    shape.tx = (st->start.flags & PERF_SERVER_SENDS) != 0;
    shape.rx = (st->start.flags & PERF_CLIENT_SENDS) != 0;
    shape.seed = st->start.test + st->start.stream;
    shape.check = (st->start.flags & PERF_CHECK) != 0;
    shape.request_bytes = st->start.request_bytes;
    shape.limit_bytes = st->start.limit_bytes;
    shape.memory_bytes = st->start.memory_bytes;
    if (shape.memory_bytes > s->config->memory_bytes / st->start.streams)
        shape.memory_bytes = s->config->memory_bytes / st->start.streams;
    shape.outstanding = (uint32_t)st->start.outstanding;
    if (shape.outstanding > sluice_depth(s->loop.session))
        shape.outstanding = sluice_depth(s->loop.session);
    if (perf_stream_init(&st->stream, &s->regions, &shape, 2) < 0) {
        stream_refuse(st, sluice_error(s->loop.session));
        return;
    }
    st->stream.rx.peer_slices = st->start.slices;
    r.type = PERF_READY;
    memset(&r.u, 0, sizeof r.u);
    r.u.ready.memory_bytes = shape.rx ? st->stream.rx.region_bytes : st->stream.tx.region_bytes;
    r.u.ready.slices = shape.tx ? st->stream.tx.slices : st->stream.rx.slices;
    st->test->result.memory_bytes += r.u.ready.memory_bytes;
    st->status = perf_stream_post(&st->stream);
    if (st->status == 0)
        st->status = perf_stream_tell(&st->stream, 4, &r);
    st->state = STREAM_READY;
}

static void stream_go(struct server *s, struct stream *st, uint64_t len)
{
    struct perf_record r;
    const char *why;
    uint64_t now = loop_now();
    bool first = s->meter.start_ns == 0 || st->test->result.start_ns == 0;

    if (perf_decode(st->stream.control + PERF_STREAM_PAGE, len, PERF_GO, &r, &why) < 0) {
        stream_refuse(st, "it started before it was ready; use the same version of sluice there");
        return;
    }
    if (st->test->result.start_ns == 0)
        perf_result_start(&st->test->result, now);
    if (first)
        meter_start(&s->meter, now, STREAMS_MAX, st->stream.tx.active, st->stream.rx.active);
    st->stream.tx.start_ns = st->stream.rx.start_ns = now;
    st->stream.tx.end_ns = st->stream.rx.end_ns = now;
    if (st->start.duration_ns != 0)
        st->stream.deadline_ns = now + st->start.duration_ns;
    st->state = STREAM_RUNNING;
    s->conns[st - s->streams] = st->stream.conn;
}

static void stream_completion(struct server *s, struct stream *st,
                              const struct sluice_completion *e)
{
    uint64_t now = loop_now();

    if (e->op == SLUICE_OP_RECV && e->status == -ENODATA) {
        if (st->state < STREAM_RUNNING)
            st->status = -ECONNRESET;
        perf_stream_no_more(&st->stream);
    } else if (e->status < 0) {
        if (e->op == SLUICE_OP_ACCEPT)
            server_refused(s, e->status);
        st->status = e->status;
    } else if (e->op == SLUICE_OP_ACCEPT) {
        st->state = STREAM_OPEN;
    } else if (e->op == SLUICE_OP_SHUTDOWN) {
        st->shut = true;
    } else if (e->op == SLUICE_OP_SEND && e->user == PERF_STREAM_DATA) {
        perf_stream_sent(&st->stream, e->len, now);
    } else if (e->op == SLUICE_OP_RECV && st->state == STREAM_OPEN) {
        stream_start(s, st, e->len);
    } else if (e->op == SLUICE_OP_RECV && st->state == STREAM_READY) {
        stream_go(s, st, e->len);
    } else if (e->op == SLUICE_OP_RECV && st->state == STREAM_RUNNING) {
        perf_stream_received(&st->stream, e->len, now);
    }
}

/* Takes completions; true if there were any. */
static bool server_take(struct server *s)
{
    struct sluice_completion e[COMPLETIONS];
    int i, n = sluice_poll(s->loop.session, e, COMPLETIONS, 0);
    struct stream *st;

    if (n < 0)
        server_broken(s, n);
    for (i = 0; i < n; i++) {
        for (st = s->streams; st < s->streams + STREAMS_MAX && st->stream.conn != e[i].conn; st++)
            ;
        if (st < s->streams + STREAMS_MAX && st->status == 0)
            stream_completion(s, st, &e[i]);
    }
    return n > 0;
}

/* Sends our REPORT, as our last request, then shuts our direction down. */
static int stream_report(struct stream *st)
{
    struct perf_record r = {.type = PERF_REPORT};
    struct sluice_stats stats;
    int err;

    perf_stream_rx_end(&st->stream, false, NULL);
    sluice_conn_stats(st->stream.conn, &stats);
    perf_result_end(&st->test->result, loop_now());
    perf_stream_figures(&st->stream, true, &stats, &r.u.report.tx);
    perf_stream_figures(&st->stream, false, &stats, &r.u.report.rx);
    r.u.report.cpu_user_us = st->test->result.cpu_user_us;
    r.u.report.cpu_system_us = st->test->result.cpu_system_us;
    r.u.report.memory_bytes =
        st->stream.rx.active ? st->stream.rx.region_bytes : st->stream.tx.region_bytes;
    err = perf_stream_tell(&st->stream, 4, &r);
    if (err == -EAGAIN)
        return 0; /* server_work() tries again */
    if (err == 0)
        err = sluice_shutdown(st->stream.conn, PERF_STREAM_SHUTDOWN);
    if (err == 0)
        st->state = STREAM_REPORTED;
    return err;
}

/* A test has no stream left: prints its result, and frees it. */
static void test_end(struct server *s, struct test *t)
{
    if (t->ended > 0) {
        perf_result_end(&t->result, loop_now());
        t->result.exit_code = t->ended == t->result.parameters.streams ? SAY_OK : SAY_TRANSFER;
        if (s->config->common.json)
            perf_result_json(&t->result, s->meter.intervals);
        else if (!s->config->common.quiet)
            perf_result_print(&t->result);
        fflush(stdout);
    }
    if (s->config->one_off && t->ended < t->result.parameters.streams)
        server_failed(s, SAY_TRANSFER);
    perf_result_free(&t->result);
    t->used = false;
    s->ended++;
}

/* Ends a stream, well or not. */
static void stream_close(struct server *s, struct stream *st)
{
    bool well = st->status == 0 || st->state == STREAM_REPORTED;
    struct test *t = st->test;
    struct perf_side tx, rx;
    struct sluice_stats stats;

    sluice_conn_stats(st->stream.conn, &stats);
    /* A stream that only opened may be a forged packet: no message. */
    if (!well && st->status != -EPROTO && st->status != -ENOTCONN && st->state > STREAM_OPEN &&
        loop_signal() == 0)
        say_error(SAY_TRANSFER, "%s: %s", stats.peer, sluice_status_text(st->status));
    perf_stream_figures(&st->stream, true, &stats, &tx);
    perf_stream_figures(&st->stream, false, &stats, &rx);
    s->conns[st - s->streams] = NULL;
    sluice_conn_close(st->stream.conn);
    st->stream.conn = NULL;
    perf_stream_fini(&st->stream, &s->regions);
    st->state = STREAM_IDLE;
    st->test = NULL;
    if (t == NULL)
        return;
    if (well) {
        t->ended++;
        perf_result_add(&t->result, &tx, &rx, &stats, NULL);
    }
    /* Only streams whose START has come count as open. */
    if (--t->open == 0)
        test_end(s, t);
}

static void server_work(struct server *s)
{
    struct stream *st;
    uint64_t now = loop_now();

    for (st = s->streams; st < s->streams + STREAMS_MAX; st++) {
        if (st->state == STREAM_RUNNING && st->status == 0) {
            int err = perf_stream_send(&st->stream, now);

            if (err == 0)
                err = perf_stream_post(&st->stream);
            if (err == 0 && st->stream.rx.ended && perf_stream_tx_done(&st->stream, now))
                err = stream_report(st);
            st->status = err;
        }
        if (st->state != STREAM_IDLE && (st->status != 0 || (st->shut && st->stream.rx.ended)))
            stream_close(s, st);
    }
}

/* When the next sample is due, or a sending stream has its deadline, ns; UINT64_MAX: never. */
static uint64_t server_next(const struct server *s)
{
    uint64_t now = loop_now(), next = meter_next(&s->meter);
    const struct stream *st;
    bool running = false;

    for (st = s->streams; st < s->streams + STREAMS_MAX; st++) {
        running |= st->state == STREAM_RUNNING;
        if (st->state == STREAM_RUNNING && st->stream.tx.active && st->stream.deadline_ns > now &&
            st->stream.deadline_ns < next)
            next = st->stream.deadline_ns;
    }
    return running ? next : UINT64_MAX;
}

static void server_loop(struct server *s)
{
    while (loop_signal() == 0 && s->code == SAY_OK && !(s->config->one_off && s->ended > 0)) {
        bool more = server_take(s);

        server_work(s);
        server_listen(s);
        meter_sample(&s->meter, loop_now(), s->conns, STREAMS_MAX, false);
        if (s->config->one_off && s->ended > 0)
            return;
        if (!more)
            loop_wait_until(&s->loop, -1, server_next(s));
    }
}

static void server_open(struct server *s)
{
    uint8_t *control =
        sluice_alloc(s->loop.session, (uint64_t)STREAMS_MAX * PERF_STREAM_CONTROL_BYTES);
    int err = control == NULL ? -ENOMEM : sluice_listen(s->loop.session, s->config->port);
    uint32_t i;

    if (err < 0) {
        server_broken(s, err);
        return;
    }
    for (i = 0; i < STREAMS_MAX; i++)
        s->streams[i].stream.control = control + (uint64_t)i * PERF_STREAM_CONTROL_BYTES;
    server_listen(s);
    if (s->code == SAY_OK && options_talk(&s->config->common))
        say_note("waiting on port %u", s->config->port);
}

int perf_server(const struct perf_config *config)
{
    struct server *s = calloc(1, sizeof *s);
    uint32_t i;
    int code;

    if (s == NULL)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    s->config = config;
    s->code = meter_open(&s->meter, config->interval_ns,
                         !config->common.quiet && !config->common.json, config->common.rates);
    if (s->code == SAY_OK)
        s->code = loop_open(&s->loop, config->common.socket);
    if (s->code == SAY_OK) {
        regions_init(&s->regions, s->loop.session);
        server_open(s);
    }
    if (s->code == SAY_OK)
        server_loop(s);
    for (i = 0; i < STREAMS_MAX; i++) {
        if (s->streams[i].state == STREAM_READY || s->streams[i].state == STREAM_RUNNING)
            server_failed(s, loop_signal() != 0 ? 128 + loop_signal() : SAY_TRANSFER);
        if (s->streams[i].state != STREAM_IDLE)
            stream_close(s, &s->streams[i]);
    }
    loop_close(&s->loop);
    server_failed(s, meter_close(&s->meter));
    server_failed(s, say_flush());
    code = s->code;
    free(s);
    return code;
}
