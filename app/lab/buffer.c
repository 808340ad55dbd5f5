/* SPDX-License-Identifier: BSD-3-Clause */
/* See buffer.h. Time in ns; events of one time happen in the order of enum what. */
#include "lab/buffer.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "control/occupancy.h"

enum what { SERVED, ARRIVE, TOLD, ASKED, SEND, WHATS };

/* Things under way, all for equally long, so that the first one in is the first one out. A ring of
 * `room` places, a power of two, which grows. */
struct flights {
    struct flight {
        uint64_t at, what;
    } * ring;
    uint64_t room, head, tail;
};

struct buffer_config {
    struct occupancy_law law;
    bool perfect;
    uint64_t packet_bits, line_ns, delay_ns, service_ns, buffer;
    double load;
    uint64_t load_from_ns, load_until_ns, begin_ns, from_ns, until_ns;
};

struct buffer {
    struct buffer_config cfg;
    struct occupancy buffer;
    struct occupancy_pace pace;
    uint64_t now, served_at, send_at;
    uint32_t waiting;
    uint64_t *first; /* when each packet was first sent */
    uint64_t sent, sent_max;
    struct flights arrive, signalled, asked;
    struct flights again; /* packets asked for, to be sent next */
    uint64_t ideal_ns;    /* perfect: when the next packet is to arrive */
    /* Counted from cfg.from_ns on: */
    uint64_t processed, entered, delay_ns, controls, overflows, grown_ns;
    json_t *interval; /* NULL: no series is wanted */
};

static void flights_grow(struct flights *f)
{
    struct flights more = {.room = f->room != 0 ? 2 * f->room : 64};

    more.ring = calloc(more.room, sizeof *more.ring);
    CHECK(more.ring != NULL);
    while (f->head != f->tail)
        more.ring[more.tail++] = f->ring[f->head++ & (f->room - 1)];
    free(f->ring);
    *f = more;
}

static void fly(struct flights *f, uint64_t at, uint64_t what)
{
    if (f->tail - f->head == f->room)
        flights_grow(f);
    f->ring[f->tail++ & (f->room - 1)] = (struct flight){at, what};
}

static uint64_t flights_next(const struct flights *f)
{
    return f->head != f->tail ? f->ring[f->head & (f->room - 1)].at : TIME_NEVER;
}

static uint64_t land(struct flights *f)
{
    return f->ring[f->head++ & (f->room - 1)].what;
}

static bool seen(const struct buffer *l)
{
    return l->now >= l->cfg.from_ns;
}

static uint64_t service_ns(const struct buffer *l, uint64_t at)
{
    bool loaded = at >= l->cfg.load_from_ns && at < l->cfg.load_until_ns;

    return loaded ? (uint64_t)((double)l->cfg.service_ns * l->cfg.load) : l->cfg.service_ns;
}

/* Sets when the next packet may leave. */
static void plan(struct buffer *l)
{
    uint64_t flight = l->cfg.line_ns + l->cfg.delay_ns, next = occupancy_pace_next(&l->pace);

    if (l->cfg.perfect)
        next = l->ideal_ns > flight ? l->ideal_ns - flight : 0;
    l->send_at = next > l->now ? next : l->now;
}

static void note_interval(struct buffer *l)
{
    if (l->interval != NULL && seen(l))
        result_point(l->interval, l->now, l->pace.interval_us / 1000);
}

static void send_packet(struct buffer *l)
{
    uint64_t packet = l->sent;

    if (flights_next(&l->again) != TIME_NEVER) {
        packet = land(&l->again);
    } else {
        if (l->sent == l->sent_max) {
            l->sent_max = l->sent_max * 2 + 1024;
            l->first = realloc(l->first, l->sent_max * sizeof *l->first);
            CHECK(l->first != NULL);
        }
        l->first[l->sent++] = l->now;
    }
    fly(&l->arrive, l->now + l->cfg.line_ns + l->cfg.delay_ns, packet);
    occupancy_pace_sent(&l->pace, l->now);
    l->ideal_ns += service_ns(l, l->ideal_ns);
    plan(l);
    note_interval(l);
}

static void level_changed(struct buffer *l)
{
    if (!l->cfg.perfect && occupancy_update(&l->buffer, l->waiting)) {
        l->controls += seen(l);
        fly(&l->signalled, l->now + l->cfg.delay_ns, (uint64_t)(int64_t)l->buffer.zone);
    }
}

static void arrive(struct buffer *l, uint64_t packet)
{
    if (l->waiting == l->cfg.buffer) {
        l->overflows += seen(l);
        fly(&l->asked, l->now + l->cfg.delay_ns, packet);
        return;
    }
    if (seen(l)) {
        l->entered++;
        l->delay_ns += l->now - l->first[packet];
    }
    if (l->waiting++ == 0)
        l->served_at = l->now + service_ns(l, l->now);
    level_changed(l);
}

static void served(struct buffer *l)
{
    l->processed += seen(l);
    l->served_at = --l->waiting > 0 ? l->now + service_ns(l, l->now) : TIME_NEVER;
    level_changed(l);
}

/* A zone reaches the sender. grown_ns is when the interval stopped growing: when, for the first
 * time under load, a zone makes the interval shrink while it is longer than the loaded host
 * needs. */
static void zone_signalled(struct buffer *l, int8_t zone)
{
    if (l->grown_ns == 0 && l->now >= l->cfg.load_from_ns && zone < 0 &&
        l->pace.interval_us * 1000 > (double)l->cfg.service_ns * l->cfg.load)
        l->grown_ns = l->now;
    occupancy_pace_signal(&l->pace, zone);
    plan(l);
    note_interval(l);
}

static void buffer_work(struct buffer *l)
{
    for (;;) {
        uint64_t at[WHATS] = {l->served_at, flights_next(&l->arrive), flights_next(&l->signalled),
                              flights_next(&l->asked), l->send_at};
        enum what w = SERVED;

        for (int i = 1; i < WHATS; i++)
            w = at[i] < at[w] ? (enum what)i : w;
        if (at[w] >= l->cfg.until_ns)
            return;
        l->now = at[w];
        if (w == SERVED)
            served(l);
        else if (w == ARRIVE)
            arrive(l, land(&l->arrive));
        else if (w == TOLD)
            zone_signalled(l, (int8_t)land(&l->signalled));
        else if (w == ASKED)
            fly(&l->again, l->now, land(&l->asked));
        else
            send_packet(l);
    }
}

/* ---- text in, result out --------------------------------------------------------------------- */

static struct buffer_config config_read(struct text *t, const char *s)
{
    struct buffer_config c = {
        .perfect = text_yes(t, s, "perfect", "no"),
        .packet_bits = text_size(t, s, "packet", "3000") * 8,
        .delay_ns = text_time(t, s, "delay", "5ms"),
        .buffer = text_number(t, s, "buffer", "10", 1, 1000),
        .begin_ns = text_time(t, s, "begin", "0"),
        .from_ns = text_time(t, s, "from", "1s"),
        .until_ns = text_time(t, s, "until", "3s"),
        .load_from_ns = text_time(t, s, "load from", "1s"),
    };
    uint64_t rate = text_rate(t, s, "rate", "100mbit"), work = text_rate(t, s, "service", "20mbit");
    uint64_t bytes = c.packet_bits / 8 * CLOCK_NS_PER_S;
    char err[200];

    if (occupancy_law_parse(text_word(t, s, "law", "single"), false, &c.law, err, sizeof err) < 0)
        text_wrong(t, s, "law", "%s", err);
    c.line_ns = rate != 0 ? bytes / rate : 0;
    c.service_ns = work != 0 ? bytes / work : 0;
    c.load_until_ns = c.load_from_ns + text_time(t, s, "load for", "1s");
    if (text_reals(t, s, "load", "1", &c.load, 1) != 1 || !(c.load >= 1 && c.load <= 1e6))
        text_wrong(t, s, "load", "a host's load is 1 to a million; write for example 5");
    if (c.line_ns == 0 || c.service_ns == 0 || c.packet_bits == 0)
        text_wrong(t, s, "rate", "packet, rate and service must all be above 0; correct them");
    if (c.until_ns <= c.from_ns)
        text_wrong(t, s, "until", "nothing is observed; choose a time after \"from\"");
    return c;
}

static void buffer_tell(const struct buffer *l, struct result *r)
{
    double seconds = (double)(l->cfg.until_ns - l->cfg.from_ns) / 1e9;
    double throughput = (double)(l->processed * l->cfg.packet_bits) / seconds;
    double delay = l->entered > 0 ? (double)l->delay_ns / (double)l->entered / 1e9 : NAN;

    result_value(r, throughput, "bit/s", "throughput");
    result_value(r, delay, "s", "delay");
    result_value(r, throughput / delay, "bit/s2", "power");
    result_value(r, (double)l->controls, "packets", "controls");
    result_value(r, (double)l->overflows, "packets", "overflows");
    result_value(r, l->grown_ns != 0 ? (double)(l->grown_ns - l->cfg.load_from_ns) / 1e9 : NAN, "s",
                 "grown");
}

void buffer_run(struct text *t, const char *section, struct result *r)
{
    struct buffer *l = calloc(1, sizeof *l);
    CHECK(l != NULL);
    bool series = text_yes(t, section, "series", "no");

    l->cfg = config_read(t, section);
    if (text_right(t)) {
        occupancy_init(&l->buffer, &l->cfg.law);
        occupancy_pace_init(&l->pace, &l->cfg.law, l->cfg.service_ns, l->cfg.line_ns,
                            CLOCK_NS_PER_S);
        l->served_at = TIME_NEVER;
        l->send_at = l->cfg.begin_ns;
        l->ideal_ns = l->cfg.begin_ns + l->cfg.line_ns + l->cfg.delay_ns;
        if (series)
            l->interval = result_series(r, "ms", "interval");
        buffer_work(l);
        buffer_tell(l, r);
    }
    free(l->first);
    free(l->arrive.ring);
    free(l->signalled.ring);
    free(l->asked.ring);
    free(l->again.ring);
    free(l);
}
