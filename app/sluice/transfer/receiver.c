/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver of files: its senders and its loop. */
#include "sluice/transfer/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "console/text.h"
#include "sluice/say.h"
#include "sluice/sync/prune.h"

#define COMPLETIONS 64
/* Where a free service is looked for: the dynamic ports of RFC 6335, section 6. */
#define FREE_FIRST  49152
#define FREE_COUNT  16384
#define FREE_TRIES  64          /* a host has far fewer services than there are numbers */
#define WORK_BYTES  (16u << 20) /* read from one sender before the next has its turn */
#define NAMED_MAX   8           /* strangers that a copy names: more could fill the terminal */

static void receiver_failed(struct receiver *r, int code)
{
    if (r->code == SAY_OK)
        r->code = code;
}

/* -EACCES: this user may not accept on the service. */
static int receiver_resource(struct receiver *r, int err)
{
    return say_error(err == -EACCES ? SAY_RESOURCE : say_code(err, true), "%s",
                     sluice_error(r->loop.session));
}

static bool receiver_accepts(const struct incoming *in)
{
    return in->state == INCOMING_OPEN || in->state == INCOMING_OVER;
}

static bool receiver_serves(const struct incoming *in)
{
    return receiver_accepts(in) && in->served;
}

/* Number of accepted peers that are served, or (served false) that are not. */
static uint32_t receiver_peers(const struct receiver *r, bool served)
{
    uint32_t i, n = 0;

    for (i = 0; i < r->n_senders; i++)
        n += receiver_accepts(r->senders[i]) && r->senders[i]->served == served;
    return n;
}

/* Number of accepts that wait on a channel. */
static uint32_t receiver_waiting(const struct receiver *r, uint32_t channel)
{
    uint32_t i, n = 0;

    for (i = 0; i < r->n_senders; i++)
        n += r->senders[i]->state == INCOMING_WAITING && r->senders[i]->channel == channel;
    return n;
}

/* Where JSON goes: not among data. */
static FILE *receiver_json(const struct receiver *r)
{
    return r->destination.stream_fd == 1 ? stderr : stdout;
}

/* Where lines of --json-stream go; NULL: nowhere. */
static FILE *receiver_lines(const struct receiver *r)
{
    const struct receiver_options *o = r->options;

    return o->common.json_stream && !copy_is_far(o->copy) ? receiver_json(r) : NULL;
}

/* With how many connections a sender may share its transfer, so that there are enough for all. */
static uint32_t receiver_streams(const struct receiver *r)
{
    uint64_t count = r->count != 0 ? r->count : UINT64_MAX;
    uint32_t senders = count < r->options->senders ? (uint32_t)count : r->options->senders;
    uint32_t others = 2 * senders + sluice_channels(r->loop.session); /* with those not served */
    uint32_t more = senders > 0 && others < RECEIVER_INCOMING_MAX
                        ? (RECEIVER_INCOMING_MAX - others) / senders
                        : 0;

    return more + 1 < RECORD_STREAMS_MAX ? more + 1 : RECORD_STREAMS_MAX;
}

/* How many connections senders may still open for the transfers that they have begun. */
static uint32_t receiver_expects(const struct receiver *r)
{
    uint32_t i, n = 0;

    for (i = 0; i < r->n_senders; i++)
        n += r->senders[i]->served ? incoming_streams_expected(r->senders[i]) : 0;
    return n;
}

/* A struct incoming without a connection, made if all have one; NULL: no memory, or too many. */
static struct incoming *receiver_inlet(struct receiver *r)
{
    uint32_t i, slots = r->options->slots, depth = sluice_depth(r->loop.session);
    struct incoming *in;

    for (i = 0; i < r->n_senders; i++) {
        if (r->senders[i]->state == INCOMING_IDLE)
            return r->senders[i];
    }
    if (r->n_senders == RECEIVER_INCOMING_MAX)
        return NULL;
    slots = slots < depth ? slots : depth;
    in = malloc(sizeof *in);
    if (in == NULL || incoming_init(in, r->loop.session, &r->destination, slots) < 0) {
        free(in);
        return NULL;
    }
    in->copy = r->options->copy;
    in->quiet = r->options->common.quiet;
    in->lines = receiver_lines(r);
    in->sync.options = r->options->sync;
    in->manifest = r->options->manifest;
    in->streams.most = receiver_streams(r);
    in->storage = r->storage;
    in->direct = r->options->direct;
    r->senders[r->n_senders++] = in;
    return in;
}

/* Submits an accept with memory for so many requests. 0 or a negative errno. */
static int receiver_accept_one(struct receiver *r, uint32_t channel, uint32_t requests)
{
    struct incoming *in = receiver_inlet(r);
    int err = in == NULL ? -ENOMEM : incoming_accept(in, r->port, channel, requests);

    if (err < 0)
        return err;
    in->limit_Bps = in->limited_bytes = 0;
    receiver_limit_again(r);
    return 0;
}

/* Submits accepts for the connections that senders may still open, on each channel its part of
 * them. Without memory for them, the senders do with fewer. */
static void receiver_accept_more(struct receiver *r, uint32_t expects)
{
    uint32_t channel, channels = sluice_channels(r->loop.session);
    int err = 0;

    for (channel = 0; channel < channels && err == 0; channel++) {
        uint32_t each = (expects + channels - 1) / channels, n = receiver_waiting(r, channel);

        for (; n < each && err == 0; n++)
            err = receiver_accept_one(r, channel, 1);
    }
}

/* Submits an accept on every channel that has none waiting. */
static void receiver_accept(struct receiver *r)
{
    uint32_t channel, channels = sluice_channels(r->loop.session);
    uint32_t most = r->options->senders, serving = receiver_peers(r, true);
    uint32_t others = receiver_peers(r, false), expects = receiver_expects(r);

    if ((serving >= most && expects == 0) || others >= most + channels + expects)
        return;
    for (channel = 0; channel < channels; channel++) {
        int err = receiver_waiting(r, channel) > 0 ? 0 : receiver_accept_one(r, channel, 2);

        if (err == 0)
            continue;
        if (serving + others == 0) {
            /* There is no peer whose end would free memory. */
            receiver_failed(r, receiver_resource(r, err));
            r->accepting = false;
        } else if (!r->short_of_memory && !r->options->common.quiet) {
            say_note("no memory for another sender, which waits until one of %u has ended",
                     serving + others);
        }
        r->short_of_memory = true;
        return;
    }
    receiver_accept_more(r, expects);
}

/* Tells senders how many connections they may open, now that accepts wait for these. */
static void receiver_answer(struct receiver *r)
{
    uint32_t i, waiting = 0;

    for (i = 0; i < r->n_senders; i++)
        waiting += r->senders[i]->state == INCOMING_WAITING;
    for (i = 0; i < r->n_senders; i++) {
        if (r->senders[i]->served && r->senders[i]->state == INCOMING_OPEN)
            incoming_streams_answer(r->senders[i], 1 + waiting);
    }
}

/* Accepts no more senders: closes the connections that wait, and the peers that are not served. */
static void receiver_stop_accepting(struct receiver *r)
{
    uint32_t i;

    r->accepting = false;
    sluice_unlisten(r->loop.session, r->port);
    for (i = 0; i < r->n_senders; i++) {
        struct incoming *in = r->senders[i];

        if (in->state != INCOMING_IDLE && in->state != INCOMING_JOINED && !in->served) {
            incoming_close(in);
            summary_fini(&in->summary);
        }
    }
}

/* Ends accepting once all senders are there, and all connections that they may open. */
static void receiver_complete(struct receiver *r)
{
    if (r->accepting && r->count != 0 && r->served >= r->count && receiver_expects(r) == 0)
        receiver_stop_accepting(r);
}

/* Adds a peer to the transfer that it wants to join. If there is no such transfer, it may have come
 * too late: its connection ends. */
static void receiver_join(struct receiver *r, struct incoming *in)
{
    uint32_t i;

    for (i = 0; i < r->n_senders; i++) {
        if (r->senders[i]->served && incoming_attach(r->senders[i], in)) {
            receiver_limit_again(r);
            return;
        }
    }
    in->state = INCOMING_OVER;
}

/* Whether a peer that has proved its address may become a sender. In a copy, it must show the
 * token; if it shows anything else, it is a stranger, and its connection ends. */
static bool receiver_knows(struct receiver *r, struct incoming *in)
{
    struct sluice_stats stats;
    int known = r->options->copy == NULL ? 1 : incoming_join(in);

    if (known < 0) {
        in->state = INCOMING_OVER;
        sluice_conn_stats(in->conn, &stats);
        r->strangers++;
        if (!r->options->common.quiet && r->strangers <= NAMED_MAX)
            say_note("%s: refused: it is not the other end of this copy%s", stats.peer,
                     r->strangers == NAMED_MAX ? "; no others are named" : "");
    }
    return known > 0;
}

/* Divides the time since the last sample. The connection of which most has come since then stands
 * for all. */
static void receiver_divide(struct receiver *r)
{
    struct sluice_stats stats, most = {0};
    uint64_t bytes, largest_bytes = 0;
    uint32_t i;

    for (i = 0; i < r->n_senders; i++) {
        struct incoming *in = r->senders[i];

        if (!receiver_serves(in))
            continue;
        sluice_conn_stats(in->conn, &stats);
        bytes = stats.rx_bytes - in->divided_bytes;
        in->divided_bytes = stats.rx_bytes;
        if (bytes >= largest_bytes) {
            largest_bytes = bytes;
            r->limits.own_Bps = in->limit_Bps;
            most = stats;
        }
    }
    r->limits.stats.rx_bytes = most.rx_bytes - largest_bytes;
    limits_sample(&r->limits, &most);
}

/* Makes senders of the peers that have proved their address, up to options->senders. */
static void receiver_admit(struct receiver *r)
{
    uint32_t i;

    for (i = 0; i < r->n_senders; i++) {
        struct incoming *in = r->senders[i];

        if (in->state != INCOMING_OPEN || !in->proved || in->served)
            continue;
        if (incoming_wants_to_join(in)) {
            receiver_join(r, in);
            continue;
        }
        if (receiver_peers(r, true) >= r->options->senders ||
            (r->count != 0 && r->served >= r->count) || !receiver_knows(r, in))
            continue;
        receiver_divide(r);
        memcpy(in->limited_before_ns, r->limits.ns, sizeof r->limits.ns);
        in->served = true;
        r->served++;
    }
}

/* An accept has completed, or failed. */
static void receiver_accepted(struct receiver *r, int status)
{
    if (status != 0 && status != -ECONNRESET && status != -ETIMEDOUT && status != -ECANCELED) {
        if (r->code == SAY_OK)
            r->code = say_error(say_code(status, true), "%s",
                                status == -ENOTCONN ? sluice_error(r->loop.session)
                                                    : sluice_status_text(status));
        r->accepting = false;
    }
    r->short_of_memory = false;
    receiver_limit_again(r);
}

/* If what is allowed cannot be kept, nobody is served any more. */
static void receiver_allow(struct receiver *r)
{
    int code = loop_now() < receiver_limit_next(r) ? SAY_OK : receiver_limit(r);

    receiver_failed(r, code);
    if (code != SAY_OK)
        loop_end(code);
}

/* Takes completions. True if there were any: after an accept, the next one can be submitted. */
static bool receiver_take(struct receiver *r)
{
    struct sluice_completion c[COMPLETIONS];
    int i, n = sluice_poll(r->loop.session, c, COMPLETIONS, 0);
    bool proved;
    uint32_t k;

    if (n < 0) {
        if (r->code == SAY_OK)
            r->code = receiver_resource(r, n);
        r->accepting = false;
    }
    for (i = 0; i < n; i++) {
        for (k = 0; k < r->n_senders && r->senders[k]->conn != c[i].conn; k++)
            ;
        /* The connection may have been closed since: its completions are ignored. */
        if (k == r->n_senders)
            continue;
        proved = r->senders[k]->proved;
        incoming_complete(r->senders[k], &c[i]);
        if (c[i].op == SLUICE_OP_ACCEPT)
            receiver_accepted(r, c[i].status);
        if (r->senders[k]->proved != proved)
            receiver_limit_again(r);
    }
    return n > 0;
}

/* Takes back what was written behind this thread. True if there was something. */
static bool receiver_written(struct receiver *r)
{
    struct storage_piece *p, *first = p = storage_take(r->storage);

    for (; p != NULL; p = storage_take(r->storage))
        incoming_written(p->owner, p);
    return first != NULL;
}

/* Closes a peer that has ended; reports the result if it was a sender. */
static void receiver_close(struct receiver *r, struct incoming *in)
{
    const struct options *o = &r->options->common;
    const struct copy *c = r->options->copy;
    struct flow f = {0};
    unsigned int i;

    receiver_limit_again(r);
    if (in->served)
        receiver_divide(r);
    incoming_close(in);
    if (in->served) {
        flow_add(&f, &in->summary.stats, false);
        for (i = 0; i < LIMITS; i++)
            in->summary.limit_ns[i] = r->limits.ns[i] - in->limited_before_ns[i];
        r->past.rx_bytes += f.rx_bytes;
        r->past.tx_bytes += f.tx_bytes;
        r->past.repeats += f.repeats;
        r->past_bytes += in->summary.bytes + in->summary.there_bytes;
        progress_clear(&r->progress);
        if (c != NULL && c->finish != NULL)
            incoming_failed(in, c->finish(c->context, in->code));
        in->summary.copy = c != NULL;
        in->summary.sync = r->options->sync != NULL;
        in->summary.stream = o->json_stream;
        if (o->json)
            summary_json(&in->summary, in->code, receiver_json(r));
        if (in->code == SAY_OK && options_talk(o) && !copy_is_far(c))
            summary_say(&in->summary);
        if (o->json && r->destination.stream_fd != 1)
            fflush(stdout);
        receiver_failed(r, in->code);
    }
    summary_fini(&in->summary);
}

/* When receiver_tick() has something to do, ns; UINT64_MAX: never. */
static uint64_t receiver_next(const struct receiver *r)
{
    uint64_t limits = receiver_peers(r, true) == 0 ? TIME_NEVER : limits_next(&r->limits);

    limits = time_min(limits, receiver_limit_next(r));
    return time_min(time_min(rates_next(&r->rates), progress_next(&r->progress)), limits);
}

/* Bytes of files that this sender has sent, or that were there. */
static uint64_t receiver_moved(const struct incoming *in)
{
    return in->summary.bytes + in->summary.there_bytes + (in->in_file ? in->part.at_bytes : 0);
}

static void receiver_tick(struct receiver *r)
{
    struct flow f = r->past;
    struct progress_view v = {.name = "", .limit = "", .moved_bytes = r->past_bytes};
    uint64_t now = loop_now();
    struct sluice_stats stats;
    uint32_t i;

    if (now < receiver_next(r))
        return;
    for (i = 0; i < r->n_senders; i++) {
        struct incoming *in = r->senders[i];

        if (in->state != INCOMING_OPEN && in->state != INCOMING_JOINED)
            continue;
        sluice_conn_stats(in->conn, &stats);
        flow_add(&f, &stats, false);
        v.repeats += stats.rx_lost;
        if (in->state == INCOMING_JOINED)
            continue;
        v.done_bytes += in->part.at_bytes;
        v.total_bytes += in->part.offer.size;
        v.moved_bytes += receiver_moved(in);
        v.name = in->name;
    }
    rates_sample(&r->rates, now, &f);
    if (receiver_peers(r, true) > 0) {
        if (now >= limits_next(&r->limits))
            receiver_divide(r);
        v.limit = limits_now_word(&r->limits);
    }
    progress_show(&r->progress, now, &v);
}

static void receiver_wait(struct receiver *r)
{
    uint64_t start = loop_now();
    bool behind = false;
    uint32_t i;

    for (i = 0; i < r->n_senders; i++)
        behind |= storage_busy(&r->senders[i]->behind) && r->senders[i]->posted == 0;
    loop_wait_until(&r->loop, storage_fd(r->storage), receiver_next(r));
    limits_waited(&r->limits, behind ? LIMITS_FILES : LIMITS_FLIGHT, loop_now() - start);
}

static void receiver_loop(struct receiver *r)
{
    const struct copy *c = r->options->copy;
    bool more, over;
    uint32_t i;

    while (loop_code() == 0) {
        if (r->accepting)
            receiver_accept(r);
        receiver_answer(r);
        if (!r->accepting && receiver_peers(r, true) == 0)
            return;
        receiver_allow(r);
        /* Whatever the far end has sent arrived before its end was known. */
        over = c != NULL && c->over != NULL && c->over(c->context);
        more = receiver_take(r);
        more |= receiver_written(r);
        receiver_admit(r);
        for (i = 0; i < r->n_senders; i++) {
            if (r->senders[i]->served || r->senders[i]->n_ready == 0)
                more |= incoming_work(r->senders[i], WORK_BYTES);
            if (r->senders[i]->state == INCOMING_OVER) {
                receiver_close(r, r->senders[i]);
                more = true;
            }
        }
        receiver_complete(r);
        receiver_tick(r);
        if (over && !more && r->served == 0)
            return;
        if (!more)
            receiver_wait(r);
    }
}

/* Claims the service number, or a free one. */
static int receiver_listen(struct receiver *r)
{
    int err = -EADDRINUSE, i;
    uint16_t n;

    r->port = r->options->port;
    if (r->port != 0)
        return sluice_listen(r->loop.session, r->port);
    for (i = 0; i < FREE_TRIES && (err == -EADDRINUSE || err == -EACCES); i++) {
        if (getrandom(&n, sizeof n, 0) != sizeof n)
            n = (uint16_t)loop_now();
        r->port = (uint16_t)(FREE_FIRST + n % FREE_COUNT);
        err = sluice_listen(r->loop.session, r->port);
    }
    return err;
}

/* Says that senders may come, and where. */
static int receiver_announce(struct receiver *r)
{
    const struct options *o = &r->options->common;
    const struct copy *c = r->options->copy;

    if (c != NULL)
        return c->ready(c->context, r->loop.session, r->port);
    if (options_talk(o) || (r->options->port == 0 && !o->quiet))
        say_note("waiting on port %u", r->port);
    if (r->options->port == 0 && o->json) {
        fprintf(r->destination.stream_fd == 1 ? stderr : stdout,
                "{\"command\":\"recv\",\"port\":%u}\n", r->port);
        return say_flush();
    }
    return SAY_OK;
}

/* Claims the service number and submits the first accepts. */
static void receiver_open(struct receiver *r)
{
    int err = receiver_listen(r);

    if (err < 0) {
        receiver_failed(r, receiver_resource(r, err));
        return;
    }
    r->accepting = true;
    receiver_accept(r);
    if (r->code == SAY_OK)
        receiver_failed(r, receiver_announce(r));
}

/* Opens the output. Returns an exit code. */
static int receiver_output(struct receiver *r)
{
    const struct receiver_options *o = r->options;
    char safe[512];
    int code = o->sync != NULL ? destination_open_tree(&r->destination, o->output, o->sync->dry_run)
                               : destination_open(&r->destination, o->output, o->overwrite);

    if (code == SAY_OK && o->directory && r->destination.kind != DESTINATION_DIR)
        code = say_error(SAY_LOCAL, "%s: is no directory; make it first (mkdir)",
                         text_safe(safe, sizeof safe, o->output));
    if (o->sync != NULL) {
        r->clear = prune_rules(o->sync);
        r->destination.clear = o->sync->prune ? &r->clear : NULL;
        r->destination.checksum = o->sync->checksum;
        r->destination.whole_files = o->sync->whole_files;
    }
    r->destination.fsync = o->fsync;
    r->destination.keep_s = o->keep_s;
    r->destination.max_given = o->max_bytes != 0;
    if (o->max_bytes != 0)
        r->destination.max_bytes = o->max_bytes;
    r->count = r->destination.kind == DESTINATION_DIR ? o->count : 1;
    return code;
}

/* Has the far end end, if it is not clear yet how it has ended. */
static void receiver_finish(struct receiver *r)
{
    const struct copy *c = r->options->copy;

    if (c == NULL || c->finish == NULL)
        return;
    receiver_failed(r, c->finish(c->context, r->code));
    if (r->code == SAY_OK && r->served == 0)
        receiver_failed(
            r, say_error(SAY_TRANSFER, "%s: ended before anything came; try again", c->host));
}

int receiver_run(struct receiver *r, const struct receiver_options *o)
{
    uint32_t i;

    r->options = o;
    progress_init(&r->progress, o->common.quiet || o->common.json || copy_is_far(o->copy),
                  receiver_lines(r));
    r->code = receiver_output(r);
    if (r->code == SAY_OK)
        r->code = rates_open(&r->rates, o->common.rates);
    if (r->code == SAY_OK)
        r->code = loop_open(&r->loop, o->common.socket);
    r->storage = storage_create(o->senders, o->direct);
    if (r->code == SAY_OK)
        receiver_open(r);
    limits_open(&r->limits, false, 0);
    r->limits.storage = r->storage;
    r->limits.stream = r->destination.kind == DESTINATION_STREAM;
    if (r->code == SAY_OK)
        receiver_loop(r);
    for (i = 0; i < r->n_senders; i++) {
        if (r->senders[i]->state != INCOMING_IDLE && r->senders[i]->state != INCOMING_JOINED)
            receiver_close(r, r->senders[i]);
    }
    for (i = 0; i < r->n_senders; i++) {
        incoming_fini(r->senders[i]);
        free(r->senders[i]);
    }
    storage_destroy(r->storage);
    limits_close(&r->limits);
    progress_clear(&r->progress);
    /* Without a count, a signal is the normal end, unless it interrupts a sender. */
    if (loop_code() != 0 && r->count != 0)
        receiver_failed(r, loop_code());
    receiver_finish(r);
    receiver_failed(r, rates_close(&r->rates));
    receiver_failed(r, say_flush());
    loop_close(&r->loop);
    destination_close(&r->destination);
    return r->code;
}
