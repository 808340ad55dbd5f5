/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk of a packet through its path: in at path_push(), out at path_pop(). */
#include "path/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "path/chain.h"
#include "path/element.h"
#include "path/element/flow.h"
#include "path/fifo.h"

/* ---- what elements ask of their path ------------------------------------------------------ */

static bool room(const struct path *path)
{
    return path->counts.held_packets < path->cfg.packets_max;
}

static struct rte_mbuf *adopt(struct path *path, struct rte_mbuf *m)
{
    if (m == NULL)
        counter_add(&path->counts.drop_no_mbuf, 1);
    else
        counter_add(&path->counts.held_packets, 1);
    return m;
}

struct rte_mbuf *path_copy(struct path *path, const struct rte_mbuf *m)
{
    return adopt(path, room(path) ? rte_pktmbuf_copy(m, path->cfg.pool, 0, UINT32_MAX) : NULL);
}

struct rte_mbuf *path_make(struct path *path)
{
    struct rte_mbuf *m = adopt(path, room(path) ? rte_pktmbuf_alloc(path->cfg.pool) : NULL);

    if (m != NULL)
        memset(&m->hash, 0, sizeof m->hash); /* else it would keep what an earlier frame had */
    return m;
}

/* ---- making and unmaking ------------------------------------------------------------------ */

static void elements_free(struct path *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct element *e = p->order[i];

        if (e->kind->fini != NULL)
            e->kind->fini(e);
        rte_free(e->delay);
        rte_free(e->queue);
        rte_free(e);
    }
    rte_free(p->order);
    p->order = NULL;
    p->n = 0;
}

void path_destroy(struct path *p)
{
    if (p == NULL)
        return;
    elements_free(p);
    if (p->chain != NULL)
        chain_free(p->chain);
    rte_free(p->chain);
    fifo_fini(&p->out);
    store_fini(&p->store);
    rte_free(p);
}

static int elements_create(struct path *p, uint64_t now)
{
    struct chain_elements made = {.path = p, .since = now, .seed = p->cfg.seed};
    int rc;

    if (p->chain->seeded)
        made.seed = p->chain->seed;
    made.seed += (uint64_t)p->cfg.copy << 32; /* far from the seeds of other paths */
    made.list = rte_zmalloc("path elements", CHAIN_ELEMENTS_MAX * sizeof(struct element *), 0);
    if (made.list == NULL)
        return -ENOMEM;
    rc = chain_build(&made, p->chain->first, 0, NULL, &p->first);
    p->order = made.list;
    p->n = made.n;
    for (uint32_t i = 0; i < made.n / 2; i++) {
        struct element *e = p->order[i];

        p->order[i] = p->order[made.n - 1 - i];
        p->order[made.n - 1 - i] = e;
    }
    return rc;
}

struct path *path_create(const char *spec, const struct path_config *cfg, uint64_t now, char *err,
                         size_t err_len)
{
    struct path *p;
    struct spec s;
    int rc;

    CHECK(cfg->hz > 0 && cfg->packets_max > 0 && cfg->packets_max <= PATH_PACKETS_MAX &&
          cfg->compact_bytes % 64 == 0);
    if (strlen(spec) > PATH_SPEC_MAX_BYTES) {
        snprintf(err, err_len, "the path is described in more than %u characters",
                 PATH_SPEC_MAX_BYTES);
        return NULL;
    }
    p = rte_zmalloc("path", sizeof *p, 64);
    if (p != NULL)
        p->chain = rte_zmalloc("path chain", sizeof *p->chain, 0);
    if (p == NULL || p->chain == NULL) {
        snprintf(err, err_len, "no memory for a path");
        rte_free(p);
        return NULL;
    }
    p->cfg = *cfg;
    p->clock.hz = cfg->hz;
    p->now = now;
    spec_init(&s, spec, cfg->hz, err, err_len);
    rc = chain_parse(p->chain, &s);
    if (rc == 0) {
        rc = store_init(&p->store, cfg->packets_max, cfg->compact_bytes, cfg->pool);
        if (rc == 0)
            rc = fifo_init(&p->out, cfg->packets_max, &p->store);
        if (rc == 0)
            rc = elements_create(p, now);
        if (rc == -E2BIG)
            snprintf(err, err_len, "more than %u elements, counting those of each flow",
                     CHAIN_ELEMENTS_MAX);
        else if (rc != 0)
            snprintf(err, err_len,
                     "no memory for a path that holds %u packets; give fewer, or more memory",
                     cfg->packets_max);
    }
    if (rc != 0) {
        path_destroy(p);
        return NULL;
    }
    return p;
}

const char *path_common(const struct path *p)
{
    const struct stage *st = chain_common(p->chain->first);

    return st != NULL ? st->text : NULL;
}

/* ---- running ------------------------------------------------------------------------------ */

void element_run(struct element *e, uint64_t until)
{
    while (e->change_at <= until) {
        struct stage_change *c = e->stage->changes;
        const void *old = e->params;
        uint64_t at = e->change_at;

        if (e->kind->run != NULL && e->due <= at)
            e->kind->run(e, at);
        if (e->due <= at)
            return; /* element_sated(): packets due before the change have not left yet */
        for (uint32_t i = 0; i < e->changes_done; i++)
            c = c->next;
        e->changes_done++;
        e->params = c->params;
        e->change_at = c->next != NULL ? e->since + c->next->after : TIME_NEVER;
        if (e->kind->change != NULL)
            e->kind->change(e, old, at);
    }
    if (e->due <= until)
        e->kind->run(e, until);
}

/*
 * Runs the elements in the order of the chain. An element that stops early, at a packet due at t,
 * limits the elements behind it to t: that packet will reach them at t, in a later run.
 */
static void path_run(struct path *p, uint64_t now)
{
    uint64_t limit = now;

    CHECK(now >= p->now);
    p->now = now;
    for (uint32_t i = 0; i < p->n; i++) {
        struct element *e = p->order[i];

        p->top = e;
        if (e->due <= limit || e->change_at <= limit)
            element_run(e, limit);
        limit = time_min(limit, e->due);
    }
    p->top = NULL;
}

void path_push(struct path *p, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct path_packet packets[ELEMENT_BURST];
    uint64_t bytes = 0;
    uint32_t room, k;

    CHECK(now >= p->now);
    p->now = now;
    counter_add(&p->counts.in_packets, n);
    for (; n > 0; m += k, n = (uint16_t)(n - k)) {
        room = p->cfg.packets_max - (uint32_t)p->counts.held_packets;
        /* at most `room` packets at a time: elements may drop some and so make room for others */
        k = RTE_MIN(RTE_MIN((uint32_t)n, ELEMENT_BURST), RTE_MAX(room, 1u));
        for (uint32_t i = 0; i < k; i++, p->seq += PATH_SEQ_STEP) {
            packets[i] = (struct path_packet){m[i], now, m[i]->pkt_len, p->seq};
            bytes += packets[i].len;
        }
        if (room > 0) {
            counter_add(&p->counts.held_packets, k);
            path_bring(p, p->first, packets, k);
        } else {
            counter_add(&p->counts.drop_full, 1);
            rte_pktmbuf_free(m[0]);
        }
    }
    counter_add(&p->counts.in_bytes, bytes);
}

uint16_t path_pop_times(struct path *p, struct rte_mbuf **m, uint64_t *at, uint16_t max,
                        uint64_t now)
{
    uint64_t bytes = 0;
    uint16_t n = 0;

    p->out_wanted = max;
    path_run(p, now);
    while (n < max && fifo_count(&p->out) > 0) {
        struct path_packet packet;

        fifo_take(&p->out, &packet);
        if (!path_whole(p, &packet)) {
            path_discard(p, &packet);
            continue;
        }
        at[n] = packet.at;
        m[n++] = packet.m;
        bytes += packet.len;
    }
    counter_add(&p->counts.out_packets, n);
    counter_add(&p->counts.out_bytes, bytes);
    counter_set(&p->counts.held_packets, p->counts.held_packets - n);
    return n;
}

uint16_t path_pop(struct path *p, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint64_t at[64];
    uint16_t n = 0, got;

    do {
        got = path_pop_times(p, m + n, at, RTE_MIN((uint16_t)(max - n), (uint16_t)64), now);
        n += got;
    } while (got == 64);
    return n;
}

uint64_t path_next(const struct path *p)
{
    uint64_t next = TIME_NEVER;

    if (fifo_count(&p->out) > 0)
        return fifo_first(&p->out)->at;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct element *e = p->order[i];

        next = time_min(next, e->due);
        if (e->counts.queued_packets > 0 || e->kind->speaks)
            next = time_min(next, e->change_at);
    }
    return next;
}

/* ---- what people see ---------------------------------------------------------------------- */

const struct path_counts *path_counts(const struct path *p)
{
    return &p->counts;
}

bool path_element(const struct path *p, uint32_t i, struct path_element_info *out)
{
    for (uint32_t k = 0; k < p->n; k++) {
        struct element *e = p->order[k];
        struct path_element_counts *c = &e->counts;

        if (e->kind == &kind_join || i-- > 0)
            continue;
        counter_set(&c->out_packets, counter_get(&c->in_packets) + counter_get(&c->copied) -
                                         counter_get(&c->dropped) -
                                         counter_get(&c->queued_packets));
        counter_set(&c->out_bytes, counter_get(&c->in_bytes) + counter_get(&c->copied_bytes) -
                                       counter_get(&c->dropped_bytes) -
                                       counter_get(&c->queued_bytes));
        *out = (struct path_element_info){
            .kind = e->stage->kind->name,
            .text = e->stage->text,
            .depth = e->stage->depth,
            .instance = e->instance,
            .counts = &e->counts,
            .delay = e->delay,
            .queue = e->queue,
        };
        return true;
    }
    return false;
}
