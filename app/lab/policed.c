/* SPDX-License-Identifier: BSD-3-Clause */
/* See policed.h. Time in ns. */
#include "lab/policed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "lab/copies.h"
#include "path/path.h"
#include "sim/cells.h"

#define FRAME_MAX    9600u
#define CELL_PAYLOAD 48u
#define TRAILER      8u /* bytes that AAL5 adds to a frame */

struct stream {
    struct path *path;
    struct scenario_pools *pools;
    uint64_t rate_Bps, cells, frame_bytes, skip;
    uint32_t held_max; /* frames or cells on the path */
    /* frames after the first `skip`; in a stream of cells, `sent` counts cells */
    uint64_t sent, came;
    uint64_t frames; /* sent, with those of `skip` */
    uint64_t no_mbuf;
    uint8_t *seen; /* a bit for each frame */
    struct cells_count count;
    json_t *gaps;
};

static uint64_t frame_cells(const struct stream *s)
{
    return (s->frame_bytes + TRAILER + CELL_PAYLOAD - 1) / CELL_PAYLOAD;
}

static void cells_take(struct stream *s, uint64_t now)
{
    struct rte_mbuf *m;

    while (path_pop(s->path, &m, 1, now) == 1) {
        uint64_t gaps = s->count.gaps, sum = s->count.gap_sum;

        /* the path has changed its number: nobody knows it */
        if (bytes_get_u64(rte_pktmbuf_mtod(m, const uint8_t *)) >= s->sent) {
            rte_pktmbuf_free(m);
            continue;
        }
        cells_rx(&s->count, &m, 1);
        if (s->gaps != NULL && s->count.gaps > gaps)
            result_point(s->gaps, now, (double)(s->count.gap_sum - sum));
    }
}

static void cells_play(struct stream *s)
{
    struct cells_config cfg = {CLOCK_NS_PER_S, 1000, s->rate_Bps, s->cells, s->pools->wire};
    struct rte_mbuf *m;
    struct cells c;

    cells_init(&c, &cfg);
    for (uint64_t now; (now = cells_next(&c)) != TIME_NEVER;) {
        if (cells_tx(&c, &m, 1, now) == 1)
            path_push(s->path, &m, 1, now);
        s->sent = c.sent;
        cells_take(s, now);
    }
    s->no_mbuf = c.no_mbuf;
}

/* Frame i, without headers: its bytes begin with its number. NULL: the pool is empty. */
static struct rte_mbuf *frame_make(struct stream *s, uint64_t i)
{
    uint32_t len = (uint32_t)s->frame_bytes + RTE_ETHER_HDR_LEN;
    struct rte_mbuf *m = rte_pktmbuf_alloc(s->pools->wire);
    uint8_t *bytes = m != NULL ? (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len) : NULL;

    if (bytes == NULL) {
        rte_pktmbuf_free(m);
        return NULL;
    }
    memset(bytes, 0, len);
    bytes_put_u64(bytes, i);
    return m;
}

static void frames_take(struct stream *s, uint64_t now)
{
    struct rte_mbuf *m;

    CHECK(s->seen != NULL);
    while (path_pop(s->path, &m, 1, now) == 1) {
        uint64_t i = bytes_get_u64(rte_pktmbuf_mtod(m, const uint8_t *));

        rte_pktmbuf_free(m);
        /* neither a copy nor a frame whose number the path has changed */
        if (i > 0 && i <= s->frames && copies_first(s->seen, i))
            s->came += i > s->skip;
    }
}

static void frames_play(struct stream *s)
{
    uint64_t each = frame_cells(s), frames = s->cells / each;

    CHECK(s->rate_Bps > 0);
    for (uint64_t i = 1; i <= frames; i++) {
        /* the last cell of frame i comes at `now` */
        unsigned __int128 bytes = (unsigned __int128)i * each * CELLS_BYTES * CLOCK_NS_PER_S;
        uint64_t now = (uint64_t)(bytes / s->rate_Bps);
        struct rte_mbuf *m = frame_make(s, i);

        if (m != NULL)
            path_push(s->path, &m, 1, now);
        s->no_mbuf += m == NULL;
        s->sent += i > s->skip;
        s->frames = i;
        frames_take(s, now);
    }
}

/* What is still on the path arrives, too. */
static void stream_play(struct stream *s)
{
    uint64_t now = 0;

    if (s->frame_bytes == 0)
        cells_play(s);
    else
        frames_play(s);
    for (uint64_t next; (next = path_next(s->path)) != TIME_NEVER;) {
        now = next > now ? next : now;
        if (s->frame_bytes == 0)
            cells_take(s, now);
        else
            frames_take(s, now);
    }
    if (s->frame_bytes == 0)
        cells_end(&s->count, s->sent);
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

static uint32_t held_read(struct text *t, const char *section)
{
    return (uint32_t)text_number(t, section, "frames", "4000", 1, POOLS_FRAMES_MAX);
}

static uint32_t buffer_bytes_of(uint32_t held_max)
{
    return pools_frame_bytes(held_max, FRAME_MAX + POOLS_OVER_MTU);
}

struct scenario_memory policed_size(struct text *t, const char *section)
{
    uint32_t held_max = held_read(t, section);
    uint64_t used = pools_bytes(held_max, buffer_bytes_of(held_max));
    const char *path = text_word(t, section, "path", NULL);

    return (struct scenario_memory){used, used + pools_path_bytes(path, held_max)};
}

static void stream_read(struct stream *s, struct text *t, const char *section)
{
    s->held_max = held_read(t, section);
    s->rate_Bps = text_rate(t, section, "rate", NULL);
    s->cells = text_number(t, section, "cells", "25000", 1, 1ull << 40);
    s->frame_bytes = text_size(t, section, "frame", "0");
    s->skip = text_number(t, section, "skip", "0", 0, UINT32_MAX);
    if (s->rate_Bps == 0)
        text_wrong(t, section, "rate", "at 0 nothing comes; write for example 135mbit");
    if (s->frame_bytes > FRAME_MAX)
        text_wrong(t, section, "frame", "above %u bytes; choose a smaller one", FRAME_MAX);
    if (s->frame_bytes == 0 && s->skip != 0)
        text_wrong(t, section, "skip",
                   "it counts frames, and this is a stream of cells; write \"frame = BYTES\", or "
                   "remove skip");
}

/* Reports what was lost for want of our buffers: such a stream is not the one described. */
static void shortage_tell(const struct stream *s, struct text *t, const char *section)
{
    const struct path_counts *c = path_counts(s->path);
    uint64_t lost = s->no_mbuf + c->drop_full + c->drop_no_mbuf;

    if (lost != 0)
        text_wrong(t, section, "frames",
                   "%llu %s were lost, because more than %u were under way; raise it, shorten "
                   "delays and queues, or lower the rate",
                   (unsigned long long)lost, s->frame_bytes == 0 ? "cells" : "frames", s->held_max);
}

void policed_run(struct text *t, const char *section, uint64_t seed, struct scenario_pools *pools,
                 struct result *r)
{
    const char *spec = text_word(t, section, "path", NULL);
    struct stream s = {.pools = pools};
    char err[256];

    stream_read(&s, t, section);
    if (t->err[0] != '\0')
        return;
    if (!pools_want(pools, s.held_max, buffer_bytes_of(s.held_max))) {
        text_wrong(t, section, "frames", "no memory for so many buffers; lower it");
        return;
    }
    struct path_config cfg = {CLOCK_NS_PER_S, seed, s.held_max, pools->wire, 0, 0};

    s.path = path_create(spec, &cfg, 0, err, sizeof err);
    if (s.path == NULL)
        text_wrong(t, section, "path", "%s", err);
    s.seen = s.frame_bytes != 0 ? calloc(1, s.cells / frame_cells(&s) / 8 + 1) : NULL;
    if (s.frame_bytes != 0 && s.seen == NULL)
        text_wrong(t, section, "cells", "no memory for a bit of each frame; lower it");
    if (text_right(t)) {
        if (s.frame_bytes == 0)
            s.gaps = result_series(r, "cells", "gap");
        stream_play(&s);
        stream_tell(&s, r);
        shortage_tell(&s, t, section);
    }
    if (s.path != NULL)
        path_destroy(s.path);
    free(s.seen);
}
