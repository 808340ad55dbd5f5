/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/world.h"

#include <string.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"

#define BURST       32u
#define WORLD_START 1000u /* time 0 means "never" to some */

struct flight {
    uint64_t at;
    uint64_t order; /* among equals: first sent, first delivered */
    struct rte_mbuf *m;
    uint32_t to; /* WORLD_HOSTS_MAX: by MAC address */
};

struct world {
    struct world_config cfg;
    struct host *hosts[WORLD_HOSTS_MAX];
    struct host_control *controls[WORLD_HOSTS_MAX];
    uint64_t link_free[WORLD_HOSTS_MAX]; /* when each host's link has sent all it was given */
    uint32_t n;
    uint64_t now, next_control, order;
    struct flight *heap; /* binary heap by (at, order) */
    uint32_t flying;
    struct world_counts counts;
};

static bool flight_before(const struct flight *a, const struct flight *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(struct world *w, struct flight f)
{
    CHECK(w->flying < w->cfg.frames_max);
    uint32_t i = w->flying++;

    for (; i > 0 && flight_before(&f, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = f;
}

static struct flight heap_pop(struct world *w)
{
    struct flight top = w->heap[0], last = w->heap[--w->flying];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= w->flying)
            break;
        if (child + 1 < w->flying && flight_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!flight_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

struct world *world_create(const struct world_config *cfg)
{
    struct world *w = rte_zmalloc("world", sizeof *w, 64);

    CHECK(w != NULL && cfg->poll_ns > 0 && cfg->frames_max > 0);
    w->cfg = *cfg;
    w->heap = rte_zmalloc("flights", cfg->frames_max * sizeof *w->heap, 64);
    CHECK(w->heap != NULL);
    w->now = WORLD_START;
    w->next_control = cfg->control_ns != 0 ? WORLD_START + cfg->control_ns : TIME_NEVER;
    return w;
}

void world_destroy(struct world *w)
{
    while (w->flying > 0)
        rte_pktmbuf_free(heap_pop(w).m);
    for (uint32_t i = 0; i < w->n; i++) {
        host_control_destroy(w->controls[i]);
        host_destroy(w->hosts[i]);
    }
    rte_free(w->heap);
    rte_free(w);
}

int world_add(struct world *w, struct host_config *cfg, char *err, size_t err_len)
{
    uint32_t i = w->n;

    CHECK(i < WORLD_HOSTS_MAX);
    cfg->hz = WORLD_HZ;
    w->hosts[i] = host_create(cfg, w->now, err, err_len);
    if (w->hosts[i] == NULL)
        return -1;
    w->n++;
    if (w->cfg.control_ns != 0) {
        w->controls[i] = host_control_create(&w->hosts[i], 1, w->now, err, err_len);
        if (w->controls[i] == NULL)
            return -1;
    }
    return (int)i;
}

struct host *world_host(struct world *w, uint32_t i)
{
    CHECK(i < w->n);
    return w->hosts[i];
}

struct host_control *world_control(struct world *w, uint32_t i)
{
    CHECK(i < w->n);
    return w->controls[i];
}

uint64_t world_now(const struct world *w)
{
    return w->now;
}

const struct world_counts *world_counts(const struct world *w)
{
    return &w->counts;
}

/* A frame leaves host `from`: serialised by its link, then at the mercy of fate. */
static void frame_send(struct world *w, uint32_t from, struct rte_mbuf *sent)
{
    struct world_fate fate = {1, {0, 0}};
    struct rte_mbuf *m = rte_pktmbuf_copy(sent, w->cfg.pool, 0, UINT32_MAX);
    uint64_t leaves = w->now;

    CHECK(m != NULL && m->nb_segs == 1);
    rte_pktmbuf_free(sent);
    w->counts.sent++;
    if (w->cfg.rate_Bps != 0) {
        uint64_t start = w->link_free[from] > w->now ? w->link_free[from] : w->now;

        if (w->cfg.queue_ns != 0 && start - w->now > w->cfg.queue_ns) {
            w->counts.overflowed++;
            rte_pktmbuf_free(m);
            return;
        }
        leaves = start + m->pkt_len * WORLD_HZ / w->cfg.rate_Bps;
        w->link_free[from] = leaves;
    }
    if (w->cfg.fate != NULL)
        w->cfg.fate(w->cfg.ctx, from, m, w->now, &fate);
    CHECK(fate.copies <= 2);
    for (uint32_t k = 0; k < fate.copies; k++) {
        struct rte_mbuf *copy =
            k + 1 < fate.copies ? rte_pktmbuf_copy(m, w->cfg.pool, 0, UINT32_MAX) : m;

        CHECK(copy != NULL);
        heap_push(w, (struct flight){leaves + w->cfg.delay_ns + fate.extra_ns[k], w->order++, copy,
                                     WORLD_HOSTS_MAX});
    }
    if (fate.copies == 0)
        rte_pktmbuf_free(m);
}

/* A switch that floods what it does not know: whoever it is addressed to takes it. */
static void frame_deliver(struct world *w, struct flight *f)
{
    const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(f->m, const struct rte_ether_hdr *);
    bool flood = rte_is_multicast_ether_addr(&eth->dst_addr);

    w->counts.delivered++;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct rte_ether_addr *mac = &host_get_config(w->hosts[i])->mac;
        bool mine =
            f->to == i || (f->to == WORLD_HOSTS_MAX && rte_is_same_ether_addr(mac, &eth->dst_addr));

        if (f->to == WORLD_HOSTS_MAX && flood && !rte_is_same_ether_addr(mac, &eth->src_addr)) {
            struct rte_mbuf *copy = rte_pktmbuf_copy(f->m, w->cfg.pool, 0, UINT32_MAX);

            CHECK(copy != NULL);
            host_rx(w->hosts[i], &copy, 1, w->now);
        } else if (mine) {
            host_rx(w->hosts[i], &f->m, 1, w->now);
            return;
        }
    }
    rte_pktmbuf_free(f->m);
}

static void host_poll(struct world *w, uint32_t i)
{
    struct rte_mbuf *out[BURST];
    uint16_t n;

    w->counts.polls++;
    do {
        n = host_tx(w->hosts[i], out, BURST, w->now);
        for (uint16_t k = 0; k < n; k++)
            frame_send(w, i, out[k]);
    } while (n == BURST);
    if (w->cfg.app != NULL)
        w->cfg.app(w->cfg.ctx, i, w->hosts[i], w->now);
}

static uint64_t next_event(const struct world *w)
{
    uint64_t next = w->flying > 0 ? w->heap[0].at : TIME_NEVER;

    for (uint32_t i = 0; i < w->n; i++)
        next = time_min(next, host_next(w->hosts[i], w->now));
    return next;
}

bool world_run(struct world *w, uint64_t until)
{
    while (w->now < until) {
        uint64_t next = next_event(w);

        if (next == TIME_NEVER && w->cfg.control_ns == 0) {
            w->now = until;
            return false;
        }
        next = time_min(next, w->next_control);
        if (next < w->now + w->cfg.poll_ns)
            next = w->now + w->cfg.poll_ns;
        if (next > until) {
            w->now = until;
            break;
        }
        w->now = next;
        while (w->flying > 0 && w->heap[0].at <= w->now) {
            struct flight f = heap_pop(w);

            frame_deliver(w, &f);
        }
        if (w->now >= w->next_control) {
            struct host_port_counters none = {0, 0};

            for (uint32_t i = 0; i < w->n; i++)
                host_control(w->controls[i], &none, w->now);
            w->next_control = w->now + w->cfg.control_ns;
        }
        for (uint32_t i = 0; i < w->n; i++)
            host_poll(w, i);
    }
    return true;
}

void world_emit(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    CHECK(i < w->n);
    frame_send(w, i, m);
}

void world_inject(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    heap_push(w, (struct flight){w->now, w->order++, m, i});
}
