/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of one `sluice perf` stream. */
#include "sluice/perf/perf_stream.h"

#include <errno.h>
#include <string.h>

uint64_t perf_stream_stride(uint64_t request_bytes)
{
    uint64_t pages = (request_bytes + PERF_STREAM_PAGE - 1) / PERF_STREAM_PAGE;

    return (pages == 0 ? 1 : pages) * PERF_STREAM_PAGE;
}

uint64_t perf_stream_slices(uint64_t request_bytes, uint64_t memory_bytes, uint64_t least)
{
    uint64_t n = memory_bytes / perf_stream_stride(request_bytes);

    return n < least ? least : n;
}

/* True if the request comes after all data: it is a report. */
static bool perf_stream_is_extra(const struct perf_stream_side *s, uint64_t request)
{
    return s->due != 0 && request >= s->due;
}

static uint8_t *perf_stream_slice(const struct perf_stream_side *s, uint64_t request)
{
    return perf_stream_is_extra(s, request) ? s->extra
                                            : s->region + request % s->slices * s->stride_bytes;
}

static int perf_stream_side_init(struct perf_stream_side *s, struct regions *r,
                                 const struct perf_stream_shape *shape, uint64_t least)
{
    s->active = true;
    s->stride_bytes = perf_stream_stride(shape->request_bytes);
    if (shape->limit_bytes != 0 && shape->request_bytes != 0)
        s->due = (shape->limit_bytes + shape->request_bytes - 1) / shape->request_bytes;
    if (s->due != 0 && s->due < least)
        least = s->due;
    s->slices = perf_stream_slices(shape->request_bytes, shape->memory_bytes, least);
    if (s->due != 0 && s->due < s->slices)
        s->slices = s->due;
    s->region_bytes = s->slices * s->stride_bytes;
    s->region = regions_take(r, s->region_bytes);
    return s->region == NULL ? -ENOMEM : 0;
}

static void perf_stream_fill(struct perf_stream *p)
{
    uint64_t i;

    for (i = 0; i < p->tx.slices; i++)
        pattern_fill(perf_stream_slice(&p->tx, i), p->request_bytes, p->seed,
                     i * p->tx.stride_bytes);
}

int perf_stream_init(struct perf_stream *p, struct regions *r,
                     const struct perf_stream_shape *shape, int first_page)
{
    p->seed = shape->seed;
    p->check = shape->check;
    p->request_bytes = shape->request_bytes;
    p->limit_bytes = shape->limit_bytes;
    p->outstanding = shape->outstanding;
    p->deadline_ns = UINT64_MAX;
    p->wrong_bytes = 0;
    memset(&p->tx, 0, sizeof p->tx);
    memset(&p->rx, 0, sizeof p->rx);
    p->rx.region = p->control + (uint64_t)first_page * PERF_STREAM_PAGE;
    p->rx.stride_bytes = PERF_STREAM_PAGE;
    p->rx.slices = 2;
    p->rx.extra = p->rx.region;
    /* Receives need one slice more than requests outstanding: the newest that arrived is held. */
    if ((shape->tx && perf_stream_side_init(&p->tx, r, shape, shape->outstanding) < 0) ||
        (shape->rx && perf_stream_side_init(&p->rx, r, shape, shape->outstanding + 1) < 0)) {
        perf_stream_fini(p, r);
        return -ENOMEM;
    }
    if (shape->tx && shape->check)
        perf_stream_fill(p);
    return 0;
}

void perf_stream_fini(struct perf_stream *p, struct regions *r)
{
    if (p->tx.region_bytes != 0)
        regions_give(r, p->tx.region, p->tx.region_bytes);
    if (p->rx.region_bytes != 0)
        regions_give(r, p->rx.region, p->rx.region_bytes);
    memset(&p->tx, 0, sizeof p->tx);
    memset(&p->rx, 0, sizeof p->rx);
}

int perf_stream_tell(struct perf_stream *p, int page, const struct perf_record *r)
{
    uint8_t *bytes = p->control + (uint64_t)page * PERF_STREAM_PAGE;

    perf_encode(bytes, r);
    return sluice_send(p->conn, bytes, PERF_RECORD_BYTES, PERF_STREAM_CONTROL);
}

int perf_stream_post(struct perf_stream *p)
{
    struct perf_stream_side *s = &p->rx;
    uint64_t most = 2ull * p->outstanding;
    int err = 0;

    if (s->slices - 1 < most && s->slices != s->due)
        most = s->slices - 1;
    while (!s->no_more && err == 0 && s->submitted - s->completed < most) {
        err =
            sluice_recv(p->conn, perf_stream_slice(s, s->submitted),
                        perf_stream_is_extra(s, s->submitted) ? PERF_STREAM_PAGE : s->stride_bytes,
                        PERF_STREAM_DATA);
        s->submitted += err == 0;
    }
    return err == -EAGAIN ? 0 : err;
}

bool perf_stream_next(const struct perf_stream *p, uint64_t now_ns, const uint8_t **data,
                      uint64_t *len)
{
    const struct perf_stream_side *s = &p->tx;
    uint64_t left = p->limit_bytes - s->submitted_bytes;

    if (!s->active || now_ns >= p->deadline_ns || (p->limit_bytes != 0 && left == 0))
        return false;
    *data = perf_stream_slice(s, s->submitted);
    *len = p->limit_bytes != 0 && left < p->request_bytes ? left : p->request_bytes;
    return true;
}

void perf_stream_sending(struct perf_stream *p, uint64_t len)
{
    p->tx.submitted++;
    p->tx.submitted_bytes += len;
}

int perf_stream_send(struct perf_stream *p, uint64_t now_ns)
{
    const uint8_t *data;
    uint64_t len;
    int err = 0;

    while (err == 0 && p->tx.submitted - p->tx.completed < p->outstanding &&
           perf_stream_next(p, now_ns, &data, &len)) {
        err = sluice_send(p->conn, data, len, PERF_STREAM_DATA);
        if (err == 0)
            perf_stream_sending(p, len);
    }
    return err == -EAGAIN ? 0 : err;
}

void perf_stream_sent(struct perf_stream *p, uint64_t len, uint64_t now_ns)
{
    p->tx.completed++;
    p->tx.counted++;
    p->tx.bytes += len;
    p->tx.end_ns = now_ns;
}

/* Counts the request that is held: it is data. */
static void perf_stream_count(struct perf_stream *p)
{
    struct perf_stream_side *s = &p->rx;
    uint8_t *data = perf_stream_slice(s, s->counted);

    if (p->check && s->active) {
        uint64_t from = s->counted % s->peer_slices * perf_stream_stride(p->request_bytes);

        p->wrong_bytes += pattern_wrong(data, s->held_len, p->seed, from);
        memset(data, 0, s->held_len); /* so that bytes missing next time are noticed */
    }
    s->counted++;
    s->bytes += s->held_len;
    s->end_ns = s->held_ns;
}

void perf_stream_received(struct perf_stream *p, uint64_t len, uint64_t now_ns)
{
    struct perf_stream_side *s = &p->rx;

    if (s->held)
        perf_stream_count(p);
    s->held = true;
    s->held_len = len;
    s->held_ns = now_ns;
    s->completed++;
    s->ended = s->no_more && s->completed == s->submitted;
}

void perf_stream_no_more(struct perf_stream *p)
{
    struct perf_stream_side *s = &p->rx;

    s->no_more = true;
    s->completed++;
    s->ended = s->completed == s->submitted;
}

bool perf_stream_tx_done(const struct perf_stream *p, uint64_t now_ns)
{
    const uint8_t *data;
    uint64_t len;

    return p->tx.submitted == p->tx.completed && !perf_stream_next(p, now_ns, &data, &len);
}

const uint8_t *perf_stream_rx_end(struct perf_stream *p, bool report, uint64_t *len)
{
    struct perf_stream_side *s = &p->rx;

    if (!s->held)
        return NULL;
    s->held = false;
    if (!report) {
        perf_stream_count(p);
        return NULL;
    }
    *len = s->held_len;
    return perf_stream_slice(s, s->counted);
}

void perf_stream_figures(const struct perf_stream *p, bool tx, const struct sluice_stats *stats,
                         struct perf_side *out)
{
    const struct perf_stream_side *s = tx ? &p->tx : &p->rx;

    memset(out, 0, sizeof *out);
    if (!s->active)
        return;
    out->bytes = s->bytes;
    out->requests = s->counted;
    out->time_ns = s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
    out->units = tx ? stats->tx_units : stats->rx_units;
    out->repeats = tx ? stats->tx_repeats : stats->rx_lost;
    out->wrong_bytes = tx ? 0 : p->wrong_bytes;
}
