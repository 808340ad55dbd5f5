/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of one `sluice perf` stream. */
#include "sluice/perf/pump.h"

#include <errno.h>
#include <string.h>

uint64_t pump_stride(uint64_t request_bytes)
{
    uint64_t pages = (request_bytes + PUMP_PAGE - 1) / PUMP_PAGE;

    return (pages == 0 ? 1 : pages) * PUMP_PAGE;
}

uint64_t pump_slices(uint64_t request_bytes, uint64_t memory_bytes, uint64_t least)
{
    uint64_t n = memory_bytes / pump_stride(request_bytes);

    return n < least ? least : n;
}

/* Comes after all data: a report. */
static bool pump_is_extra(const struct pump_side *s, uint64_t request)
{
    return s->due != 0 && request >= s->due;
}

static uint8_t *pump_slice(const struct pump_side *s, uint64_t request)
{
    return pump_is_extra(s, request) ? s->extra : s->region + request % s->slices * s->stride_bytes;
}

static int pump_side_init(struct pump_side *s, struct regions *r, const struct pump_shape *shape,
                          uint64_t least)
{
    s->active = true;
    s->stride_bytes = pump_stride(shape->request_bytes);
    if (shape->limit_bytes != 0 && shape->request_bytes != 0)
        s->due = (shape->limit_bytes + shape->request_bytes - 1) / shape->request_bytes;
    if (s->due != 0 && s->due < least)
        least = s->due;
    s->slices = pump_slices(shape->request_bytes, shape->memory_bytes, least);
    if (s->due != 0 && s->due < s->slices)
        s->slices = s->due;
    s->region_bytes = s->slices * s->stride_bytes;
    s->region = regions_take(r, s->region_bytes);
    return s->region == NULL ? -ENOMEM : 0;
}

static void pump_fill(struct pump *p)
{
    uint64_t i;

    for (i = 0; i < p->tx.slices; i++)
        pattern_fill(pump_slice(&p->tx, i), p->request_bytes, p->seed, i * p->tx.stride_bytes);
}

int pump_init(struct pump *p, struct regions *r, const struct pump_shape *shape, int first_page)
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
    p->rx.region = p->control + (uint64_t)first_page * PUMP_PAGE;
    p->rx.stride_bytes = PUMP_PAGE;
    p->rx.slices = 2;
    p->rx.extra = p->rx.region;
    /* Receives need one more than outstanding: the newest that arrived is held. */
    if ((shape->tx && pump_side_init(&p->tx, r, shape, shape->outstanding) < 0) ||
        (shape->rx && pump_side_init(&p->rx, r, shape, shape->outstanding + 1) < 0)) {
        pump_fini(p, r);
        return -ENOMEM;
    }
    if (shape->tx && shape->check)
        pump_fill(p);
    return 0;
}

void pump_fini(struct pump *p, struct regions *r)
{
    if (p->tx.region_bytes != 0)
        regions_give(r, p->tx.region, p->tx.region_bytes);
    if (p->rx.region_bytes != 0)
        regions_give(r, p->rx.region, p->rx.region_bytes);
    memset(&p->tx, 0, sizeof p->tx);
    memset(&p->rx, 0, sizeof p->rx);
}

int pump_tell(struct pump *p, int page, const struct perf_record *r)
{
    uint8_t *bytes = p->control + (uint64_t)page * PUMP_PAGE;

    perf_encode(bytes, r);
    return sluice_send(p->conn, bytes, PERF_RECORD_BYTES, PUMP_CONTROL);
}

int pump_post(struct pump *p)
{
    struct pump_side *s = &p->rx;
    uint64_t most = 2ull * p->outstanding;
    int err = 0;

    if (s->slices - 1 < most && s->slices != s->due)
        most = s->slices - 1;
    while (!s->no_more && err == 0 && s->submitted - s->completed < most) {
        err = sluice_recv(p->conn, pump_slice(s, s->submitted),
                          pump_is_extra(s, s->submitted) ? PUMP_PAGE : s->stride_bytes, PUMP_DATA);
        s->submitted += err == 0;
    }
    return err == -EAGAIN ? 0 : err;
}

bool pump_next(const struct pump *p, uint64_t now_ns, const uint8_t **data, uint64_t *len)
{
    const struct pump_side *s = &p->tx;
    uint64_t left = p->limit_bytes - s->submitted_bytes;

    if (!s->active || now_ns >= p->deadline_ns || (p->limit_bytes != 0 && left == 0))
        return false;
    *data = pump_slice(s, s->submitted);
    *len = p->limit_bytes != 0 && left < p->request_bytes ? left : p->request_bytes;
    return true;
}

void pump_sending(struct pump *p, uint64_t len)
{
    p->tx.submitted++;
    p->tx.submitted_bytes += len;
}

int pump_send(struct pump *p, uint64_t now_ns)
{
    const uint8_t *data;
    uint64_t len;
    int err = 0;

    while (err == 0 && p->tx.submitted - p->tx.completed < p->outstanding &&
           pump_next(p, now_ns, &data, &len)) {
        err = sluice_send(p->conn, data, len, PUMP_DATA);
        if (err == 0)
            pump_sending(p, len);
    }
    return err == -EAGAIN ? 0 : err;
}

void pump_sent(struct pump *p, uint64_t len, uint64_t now_ns)
{
    p->tx.completed++;
    p->tx.counted++;
    p->tx.bytes += len;
    p->tx.end_ns = now_ns;
}

/* What was held is data: it counts. */
static void pump_count(struct pump *p)
{
    struct pump_side *s = &p->rx;
    uint8_t *data = pump_slice(s, s->counted);

    if (p->check && s->active) {
        uint64_t from = s->counted % s->peer_slices * pump_stride(p->request_bytes);

        p->wrong_bytes += pattern_wrong(data, s->held_len, p->seed, from);
        memset(data, 0, s->held_len); /* what does not come next time is noticed */
    }
    s->counted++;
    s->bytes += s->held_len;
    s->end_ns = s->held_ns;
}

void pump_received(struct pump *p, uint64_t len, uint64_t now_ns)
{
    struct pump_side *s = &p->rx;

    if (s->held)
        pump_count(p);
    s->held = true;
    s->held_len = len;
    s->held_ns = now_ns;
    s->completed++;
    s->ended = s->no_more && s->completed == s->submitted;
}

void pump_no_more(struct pump *p)
{
    struct pump_side *s = &p->rx;

    s->no_more = true;
    s->completed++;
    s->ended = s->completed == s->submitted;
}

bool pump_tx_done(const struct pump *p, uint64_t now_ns)
{
    const uint8_t *data;
    uint64_t len;

    return p->tx.submitted == p->tx.completed && !pump_next(p, now_ns, &data, &len);
}

const uint8_t *pump_rx_end(struct pump *p, bool report, uint64_t *len)
{
    struct pump_side *s = &p->rx;

    if (!s->held)
        return NULL;
    s->held = false;
    if (!report) {
        pump_count(p);
        return NULL;
    }
    *len = s->held_len;
    return pump_slice(s, s->counted);
}

void pump_figures(const struct pump *p, bool tx, const struct sluice_stats *stats,
                  struct perf_side *out)
{
    const struct pump_side *s = tx ? &p->tx : &p->rx;

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
