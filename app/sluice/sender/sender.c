/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender of files: its connection and its loop. */
#include "sluice/sender/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"
#include "sluice/say.h"

#define COMPLETIONS 32
/* While there is work, completions are looked for so often: two system calls, about 1 us, are then
 * 1 % of the time. A tree that the receiver has is walked at 1 us for each file. */
#define TAKE_NS     100000
#define RETRY_NS    200000000u /* between two attempts to reach a receiver */

static uint8_t *sender_answer(const struct sender *s, uint32_t i)
{
    return s->answers + (uint64_t)i * RECORD_ANSWER_MAX;
}

static void sender_listen(struct sender *s, uint32_t i)
{
    int err = sluice_recv(s->conn, sender_answer(s, i), RECORD_ANSWER_MAX, SENDER_USER_ANSWER + i);

    if (err < 0)
        sender_broken(s, err);
    else
        s->listening++;
}

/* All requests are confirmed and all RESULTs are here: an error from now on does no harm. */
static bool sender_complete(const struct sender *s)
{
    return s->end_sent && s->slot < 0 && s->first == NULL && s->in_flight == 0;
}

static void sender_completion(struct sender *s, const struct sluice_completion *c)
{
    bool answer = c->op == SLUICE_OP_RECV && c->status == 0;
    uint64_t i = c->user - SENDER_USER_ANSWER;

    if (c->op == SLUICE_OP_SEND)
        sender_streams_sent(s, &s->streams.list[0], c->user);
    if (c->op == SLUICE_OP_RECV)
        s->listening--;
    if (answer) {
        sender_results(s, sender_answer(s, (uint32_t)i), c->len);
        if (s->status == 0 && !s->no_more)
            sender_listen(s, (uint32_t)i);
    } else if (c->op == SLUICE_OP_RECV && c->status == -ENODATA) {
        s->no_more = true;
    } else if (c->status < 0) {
        if (s->status == 0 || s->status == -ECANCELED)
            s->status = c->status;
    } else if (c->op == SLUICE_OP_CONNECT) {
        s->connected = true;
    } else if (c->op == SLUICE_OP_SHUTDOWN) {
        s->shut = true;
    }
    s->peer_ended = s->no_more && s->listening == 0;
}

/* Takes completions. If the daemon is gone, the connection counts as broken. */
static void sender_take(struct sender *s)
{
    struct sluice_completion c[COMPLETIONS];
    int i, n = sluice_poll(s->loop.session, c, COMPLETIONS, 0);

    if (n < 0 && s->status == 0)
        s->status = n;
    for (i = 0; i < n; i++) {
        if (c[i].conn == s->conn)
            sender_completion(s, &c[i]);
        else
            sender_streams_completion(s, &c[i]);
    }
}

/* Has the daemon keep to what is allowed now. */
static void sender_limit(struct sender *s)
{
    const struct allowance_options *o = &s->options->allowance;
    int code;

    allowance_update(&s->allowance, o);
    code = allowance_port(o, s->conn, &s->port_Bps);
    if (code != SAY_OK) {
        sender_failed(s, code);
        s->status = -ECANCELED;
        return;
    }
    s->limits.own_Bps = allowance_rate(&s->allowance, s->port_Bps);
    sender_streams_limit(s, s->limits.own_Bps);
}

/* When sender_tick() has something to do, ns; UINT64_MAX: never. */
static uint64_t sender_next(const struct sender *s)
{
    uint64_t shown = time_min(progress_next(&s->progress), limits_next(&s->limits));

    return time_min(time_min(rates_next(&s->rates), s->allowance.next_ns), shown);
}

static void sender_tick(struct sender *s, uint64_t now)
{
    struct flow f = {.outward = true};
    uint64_t done;

    if (now < sender_next(s))
        return;
    if (now >= s->allowance.next_ns)
        sender_limit(s);
    sender_streams_stats(s, &s->summary.stats);
    flow_add(&f, &s->summary.stats, true);
    done = f.tx_bytes + s->resume.kept_bytes + s->summary.there_bytes;
    rates_sample(&s->rates, now, &f);
    if (now >= limits_next(&s->limits))
        limits_sample(&s->limits, &s->summary.stats);
    progress_show(&s->progress, now,
                  &(struct progress_view){.name = s->current,
                                          .done_bytes = done,
                                          .total_bytes = s->total_bytes,
                                          .moved_bytes = done,
                                          .all_bytes = s->total_bytes,
                                          .repeats = f.repeats,
                                          .limit = limits_now_word(&s->limits)});
}

/* Waits until there is something to do. step: why there is nothing now. */
static void sender_wait(struct sender *s, enum sender_step step)
{
    static const enum limits_wait waits[] = {[SENDER_FULL] = LIMITS_FLIGHT,
                                             [SENDER_INPUT] = LIMITS_INPUT,
                                             [SENDER_READS] = LIMITS_FILES,
                                             [SENDER_WAITS] = LIMITS_ANSWER,
                                             [SENDER_DONE] = LIMITS_ANSWER};
    int fd = step == SENDER_INPUT ? s->source.fd : storage_fd(s->ahead.storage);
    uint64_t start = loop_now();

    loop_wait_until(&s->loop, fd, sender_next(s));
    limits_waited(&s->limits, waits[step], loop_now() - start);
}

static void sender_loop(struct sender *s)
{
    uint64_t now, taken_ns = 0;
    bool shutting = false;
    int err;

    while (s->status == 0 && !(s->shut && s->peer_ended && sender_streams_over(s))) {
        enum sender_step step;

        if (s->peer_ended && (!s->end_sent || s->first != NULL))
            return; /* the missing RESULTs will not come */
        step = sender_step(s);
        if (loop_code() != 0) {
            sender_failed(s, loop_code());
            return;
        }
        if (step == SENDER_DONE && !shutting && s->status == 0) {
            shutting = true;
            err = sluice_shutdown(s->conn, SENDER_USER_OTHER);
            if (err < 0)
                sender_broken(s, err);
            sender_streams_shut(s);
        }
        if (step != SENDER_WORKED)
            sender_wait(s, step);
        now = loop_now();
        if (step != SENDER_WORKED || now - taken_ns >= TAKE_NS) {
            sender_take(s);
            taken_ns = now;
        }
        sender_tick(s, now);
    }
}

/* Sets the exit code, with a message, if the connection ended before the transfer was complete. */
static void sender_verdict(struct sender *s)
{
    if (sender_complete(s))
        return;
    if (loop_code() != 0) {
        sender_failed(s, loop_code());
        return;
    }
    if (s->status != 0 && s->code == SAY_OK) {
        int code = say_code(s->status, s->connected);

        sender_failed(s, say_error(code, "%s: %s", sender_peer(s),
                                   s->status == -ENOTCONN ? sluice_error(s->loop.session)
                                                          : sluice_status_text(s->status)));
    } else if (s->status == 0) {
        sender_failed(
            s,
            say_error(
                SAY_TRANSFER,
                "%s: the receiver ended before it had everything; check its output and send again",
                sender_peer(s)));
    }
}

/* Opens the connection, and posts receives. Returns an exit code. */
static int sender_connect(struct sender *s)
{
    const struct sender_options *o = s->options;
    uint32_t i;
    int err = sluice_connect(s->loop.session, o->host, o->go_back_n ? SLUICE_GO_BACK_N : 0,
                             SENDER_USER_OTHER, &s->conn);

    if (err < 0)
        return say_error(say_code(err, false), "%s", sluice_error(s->loop.session));
    s->streams.list[0] = (struct sender_stream){.conn = s->conn, .open = true};
    sender_limit(s);
    for (i = 0; i < SENDER_ANSWERS && i < sluice_depth(s->loop.session); i++)
        sender_listen(s, i);
    return s->code;
}

/* Closes a connection that nobody has answered, and opens another a moment later. */
static int sender_again(struct sender *s)
{
    struct loop none = {.fd = -1};

    sluice_conn_close(s->conn);
    s->conn = NULL;
    s->listening = 0;
    s->status = 0;
    s->no_more = s->peer_ended = false;
    loop_wait(&none, -1, RETRY_NS);
    return sender_connect(s);
}

/* Nothing is sent before a receiver has answered, so that the connection can be opened again until
 * one does, for options->wait_ns. Returns an exit code. */
static int sender_await(struct sender *s)
{
    uint64_t end = loop_now() + s->options->wait_ns;
    int code = SAY_OK;

    while (code == SAY_OK && !s->connected && loop_code() == 0) {
        bool absent =
            s->status == -ECONNREFUSED || s->status == -ETIMEDOUT || s->status == -EHOSTUNREACH;

        if (s->status != 0 && (!absent || loop_now() >= end))
            break;
        if (s->status != 0) {
            code = sender_again(s);
        } else {
            loop_wait(&s->loop, -1, UINT64_MAX);
            sender_take(s);
        }
    }
    s->summary.start_ns = loop_now();
    return code;
}

/* Allocates memory and connects. Returns an exit code. */
static int sender_open(struct sender *s)
{
    const struct sender_options *o = s->options;
    uint32_t depth = sluice_depth(s->loop.session), slots = o->slots;
    int code = sender_streams_begin(s);

    if (code != SAY_OK)
        return code;
    if (slots < SENDER_STREAM_SLOTS * s->streams.wanted)
        slots = SENDER_STREAM_SLOTS * s->streams.wanted;
    buffers_init(&s->buffers, s->loop.session, slots < depth ? slots : depth);
    s->answers = sluice_alloc(s->loop.session, (uint64_t)(SENDER_ANSWERS + 1) * RECORD_ANSWER_MAX);
    if (s->answers == NULL || buffers_grow(&s->buffers) < 0)
        return say_error(SAY_RESOURCE, "%s", sluice_error(s->loop.session));
    code = sender_connect(s);
    return code == SAY_OK && o->wait_ns > 0 ? sender_await(s) : code;
}

static void sender_report(struct sender *s)
{
    const struct options *o = &s->options->common;
    const struct copy *c = s->options->copy;

    progress_clear(&s->progress);
    s->summary.end_ns = loop_now();
    if (c != NULL && c->finish != NULL)
        sender_failed(s, c->finish(c->context, s->code));
    s->summary.copy = c != NULL;
    s->summary.sync = s->options->sync != NULL;
    s->summary.stream = o->json_stream;
    if (c != NULL && c->report != NULL && s->connected)
        c->report->summary(c->context, &s->summary);
    if (o->json)
        summary_json(&s->summary, s->code, stdout);
    if (s->code == SAY_OK && options_talk(o) && !copy_is_far(c))
        summary_say(&s->summary);
}

int sender_run(struct sender *s, const struct sender_options *o)
{
    s->options = o;
    s->slot = -1;
    inspect_init(&s->inspect, o->sync != NULL ? o->sync->attributes : 0);
    progress_init(&s->progress, o->common.quiet || o->common.json || copy_is_far(o->copy),
                  sender_lines(s));
    if (sender_reports(s) != NULL) {
        s->progress.tell = sender_reports(s)->progress;
        s->progress.context = o->copy->context;
    }
    if (summary_init(&s->summary, true) < 0 || source_init(&s->source) < 0 ||
        (o->resume && sender_resume_init(s) < 0))
        sender_failed(s, say_error(SAY_RESOURCE, "no memory; end other programs first"));
    if (s->code == SAY_OK)
        s->code = rates_open(&s->rates, o->common.rates);
    if (s->code == SAY_OK)
        s->code = loop_open(&s->loop, o->common.socket);
    s->ahead.storage = storage_create(1, o->direct);
    s->summary.start_ns = loop_now();
    if (s->code == SAY_OK)
        s->code = sender_open(s);
    if (s->conn != NULL) {
        uint64_t own_Bps = s->limits.own_Bps;

        limits_open(&s->limits, true, (uint64_t)s->buffers.most * PACK_BYTES);
        s->limits.streams = 1;
        s->limits.own_Bps = own_Bps;
        s->limits.storage = s->ahead.storage;
        if (s->status == 0)
            sender_loop(s);
        sender_ahead_end(s);
        summary_take(&s->summary, s->conn);
        sender_streams_stats(s, &s->summary.stats);
        s->summary.streams = s->limits.streams;
        limits_sample(&s->limits, &s->summary.stats);
        memcpy(s->summary.limit_ns, s->limits.ns, sizeof s->limits.ns);
        limits_close(&s->limits);
        sender_verdict(s);
        sender_report(s);
        sender_streams_close(s);
    }
    storage_destroy(s->ahead.storage);
    sender_failed(s, rates_close(&s->rates));
    sender_failed(s, say_flush());
    sender_names_fini(s);
    sender_walk_fini(s);
    inspect_fini(&s->inspect);
    link_table_fini(&s->links);
    sender_resume_fini(s);
    sender_delta_fini(s);
    source_fini(&s->source);
    summary_fini(&s->summary);
    sender_forget(s);
    loop_close(&s->loop);
    return s->code;
}
