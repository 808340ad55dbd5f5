/* SPDX-License-Identifier: BSD-3-Clause */
/* See policed.h. Time in ns. */
#include "lab/policed.h"

#include <math.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "base/check.h"
#include "base/clock.h"
#include "path/path.h"
#include "sim/cells.h"

#define HELD_MAX     4096u
#define CELL_PAYLOAD 48u
#define TRAILER      8u /* bytes that AAL5 adds to a frame */

struct stream {
    struct path *path;
    struct rte_mempool *pool;
    uint64_t rate_Bps, cells, frame_bytes, skip;
    /* frames after the first `skip`; in a stream of cells, `sent` counts cells */
    uint64_t sent, came;
    struct cells_count count;
    json_t *gaps;
};

static uint64_t frame_cells(const struct stream *s)
{
    return (s->frame_bytes + TRAILER + CELL_PAYLOAD - 1) / CELL_PAYLOAD;
}

static void cells_play(struct stream *s)
{
    struct cells_config cfg = {CLOCK_NS_PER_S, 1000, s->rate_Bps, s->cells, s->pool};
    struct rte_mbuf *m;
    struct cells c;

    cells_init(&c, &cfg);
    for (uint64_t now; (now = cells_next(&c)) != TIME_NEVER;) {
        uint64_t gaps = s->count.gaps, sum = s->count.gap_sum;

        if (cells_tx(&c, &m, 1, now) == 1)
            path_push(s->path, &m, 1, now);
        while (path_pop(s->path, &m, 1, now) == 1)
            cells_rx(&s->count, &m, 1);
        if (s->gaps != NULL && s->count.gaps > gaps)
            result_point(s->gaps, now, (double)(s->count.gap_sum - sum));
    }
    cells_end(&s->count, c.sent);
    s->sent = c.sent;
}

static void frames_play(struct stream *s)
{
    uint64_t each = frame_cells(s), frames = s->cells / each;

    CHECK(s->rate_Bps > 0);
    for (uint64_t i = 1; i <= frames; i++) {
        /* the last cell of frame i comes at `now` */
        unsigned __int128 bytes = (unsigned __int128)i * each * CELLS_BYTES * CLOCK_NS_PER_S;
        uint64_t now = (uint64_t)(bytes / s->rate_Bps);
        struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);

        CHECK(m != NULL &&
              rte_pktmbuf_append(m, (uint16_t)(s->frame_bytes + RTE_ETHER_HDR_LEN)) != NULL);
        path_push(s->path, &m, 1, now);
        s->sent += i > s->skip;
        while (path_pop(s->path, &m, 1, now) == 1) {
            rte_pktmbuf_free(m);
            s->came += i > s->skip;
        }
    }
}

static void stream_tell(const struct stream *s, struct result *r)
{
    const struct cells_count *k = &s->count;
    double n = (double)k->gaps, mean = n > 0 ? (double)k->gap_sum / n : NAN;
    double square = n > 0 ? (double)k->gap_squares / n - mean * mean : NAN;
    uint64_t cells = 0, excess = 0;
    struct path_element_info e;

    for (uint32_t i = 0; path_element(s->path, i, &e); i++) {
        cells += e.counts->cells;
        excess += e.counts->cells_excess;
    }
    if (s->frame_bytes != 0) {
        double whole = s->sent > 0 ? (double)s->came / (double)s->sent : NAN;
        double each = (double)frame_cells(s) * CELLS_BYTES;

        result_value(r, (double)cells, "cells", "cells");
        result_value(r, (double)excess, "cells", "lost");
        result_value(r, whole, "", "whole");
        result_value(r, whole * (double)s->rate_Bps * 8 * (double)s->frame_bytes / each, "bit/s",
                     "goodput");
        return;
    }
    result_value(r, (double)s->sent, "cells", "cells");
    result_value(r, (double)k->lost, "cells", "lost");
    result_value(r, mean, "cells", "gap_mean");
    result_value(r, n > 0 ? (double)k->gap_min : NAN, "cells", "gap_min");
    result_value(r, n > 0 ? (double)k->gap_max : NAN, "cells", "gap_max");
    result_value(r, sqrt(square > 0 ? square : 0) / mean, "", "gap_variation");
}

void policed_run(struct text *t, const char *section, uint64_t seed, struct rte_mempool *pool,
                 struct result *r)
{
    struct path_config cfg = {CLOCK_NS_PER_S, seed, HELD_MAX, pool, 0, 0};
    const char *spec = text_word(t, section, "path", NULL);
    struct stream s = {.pool = pool};
    char err[256];

    s.rate_Bps = text_rate(t, section, "rate", NULL);
    s.cells = text_number(t, section, "cells", "25000", 1, 1ull << 40);
    s.frame_bytes = text_size(t, section, "frame", "0");
    s.skip = text_number(t, section, "skip", "0", 0, UINT32_MAX);
    if (s.rate_Bps == 0)
        text_wrong(t, section, "rate", "at 0 nothing comes; write for example 135mbit");
    if (s.frame_bytes > 9600)
        text_wrong(t, section, "frame", "above 9600 bytes; choose a smaller one");
    s.path = path_create(spec, &cfg, 0, err, sizeof err);
    if (s.path == NULL)
        text_wrong(t, section, "path", "%s", err);
    if (text_right(t)) {
        if (s.frame_bytes == 0)
            s.gaps = result_series(r, "cells", "gap");
        if (s.frame_bytes == 0)
            cells_play(&s);
        else
            frames_play(&s);
        stream_tell(&s, r);
    }
    if (s.path != NULL)
        path_destroy(s.path);
}
