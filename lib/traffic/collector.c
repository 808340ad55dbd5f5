/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic/collector.h"

#define AHEAD 4 /* frames that are prefetched */

#define TIME_MASK ((1ull << STAMP_TIME_BITS) - 1)

void collector_begin(struct collector *c, struct tally *const tally[STAMP_STREAMS], uint16_t window)
{
    struct stamp_shape shape = c->shape;
    bool listening = c->listening, verify = c->verify, counts = c->counts;

    *c = (struct collector){
        .shape = shape, .listening = listening, .verify = verify, .counts = counts};
    for (unsigned int i = 0; i < STAMP_STREAMS; i++) {
        c->tally[i] = tally[i];
        c->window[i] = listening ? STAMP_WINDOWS : window;
    }
}

/* Is the filler right from the end of the stamp to `end`, over all segments? */
static bool filler_ok(const struct rte_mbuf *m, uint32_t stamp_end, uint32_t end)
{
    uint32_t at = 0;

    for (; m != NULL && at < end; m = m->next) {
        uint32_t from = stamp_end > at ? stamp_end : at, to = at + m->data_len;

        to = to < end ? to : end;
        if (from < to &&
            !stamp_filler_ok(rte_pktmbuf_mtod_offset(m, const uint8_t *, from - at), from, to))
            return false;
        at += m->data_len;
    }
    return true;
}

/* While listening: a newer window of the stream begins. */
static void window_follow(struct collector *c, const struct stamp *s)
{
    uint16_t *window = &c->window[s->stream];
    unsigned int newer = (s->window - *window) & (STAMP_WINDOWS - 1);

    if (*window != STAMP_WINDOWS && newer >= STAMP_WINDOWS / 2)
        return;
    if (*window != STAMP_WINDOWS)
        tally_again(c->tally[s->stream]);
    *window = s->window;
}

static inline void stamp_count(struct collector *c, const struct stamp *s, uint64_t time_ns)
{
    struct tally *t = c->tally[s->stream];
    enum tally_kind kind;
    uint64_t age_ns;

    if (c->listening && t != NULL && s->window != c->window[s->stream])
        window_follow(c, s);
    if (t == NULL || s->window != c->window[s->stream]) {
        c->earlier++;
        return;
    }
    kind = tally_add(t, s->number, s->flow);
    if (kind == TALLY_BAD_FLOW) {
        c->earlier++;
        return;
    }
    if (kind != TALLY_NEW || c->listening)
        return;
    age_ns = (time_ns - s->time_ns) & TIME_MASK;
    histogram_add(&c->latency, age_ns <= TIME_MASK / 2 ? age_ns : 0);
}

static inline void frame_count(struct collector *c, const struct rte_mbuf *m, uint64_t time_ns)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct stamp s;
    uint32_t end;

    c->arrived_bytes += m->pkt_len;
    switch (stamp_get(p, m->data_len, m->pkt_len, &c->shape, &s, &end)) {
    case STAMP_OK:
        if (!c->verify || filler_ok(m, s.end_off, end)) {
            stamp_count(c, &s, time_ns);
            break;
        }
        /* fall through */
    case STAMP_CORRUPT:
        c->corrupt++;
        break;
    default:
        c->foreign++;
    }
}

void collector_take(struct collector *c, struct rte_mbuf *const *m, uint32_t n, uint64_t time_ns)
{
    c->arrived += n;
    if (c->counts) {
        for (uint32_t i = 0; i < n; i++)
            c->arrived_bytes += m[i]->pkt_len;
        return;
    }
    for (uint32_t i = 0; i < n && i < AHEAD; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], const void *));
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            rte_prefetch0(rte_pktmbuf_mtod(m[i + AHEAD], const void *));
        frame_count(c, m[i], time_ns);
    }
}
