/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/probe.h"

#include "base/check.h"
#include "base/clock.h"
#include "sim/segment.h"

static struct rte_mbuf *frame_make(struct rte_mempool *pool, const struct frame_route *route,
                                   uint32_t number, uint16_t ip_len)
{
    struct segment s = {number, 0, 0, (uint16_t)(ip_len - SEGMENT_IP_BYTES)};

    return segment_build(pool, route, &s);
}

static void hook_tell(const struct probe_hook *h, const struct probe *p, const struct segment *s,
                      uint64_t now)
{
    if (h->seen != NULL)
        h->seen(h->ctx, s->number, (uint16_t)(SEGMENT_IP_BYTES + s->data_len),
                now - probe_when(p, s->number), now);
}

/* ---- the sender ------------------------------------------------------------------------------
 */

void probe_init(struct probe *p, const struct probe_config *cfg)
{
    CHECK(cfg->hz > 0 && cfg->interval_ns > 0 && cfg->ip_len[0] >= SEGMENT_IP_BYTES &&
          cfg->ip_len[1] >= SEGMENT_IP_BYTES);
    *p = (struct probe){.cfg = *cfg};
}

uint64_t probe_when(const struct probe *p, uint32_t number)
{
    struct clock clock = {p->cfg.hz};

    return p->cfg.start + clock_cycles(&clock, number * p->cfg.interval_ns);
}

void probe_rx(struct probe *p, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment s;

    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && s.number < p->sent) {
            p->back++;
            hook_tell(&p->cfg.hook, p, &s, now);
        }
        rte_pktmbuf_free(m[i]);
    }
}

uint16_t probe_tx(struct probe *p, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint16_t n = 0;

    for (; n < max && probe_next(p, now) <= now; p->sent++) {
        m[n] = frame_make(p->cfg.pool, &p->cfg.route, p->sent, p->cfg.ip_len[p->sent % 2]);
        p->no_mbuf += m[n] == NULL;
        n += m[n] != NULL;
    }
    return n;
}

uint64_t probe_next(const struct probe *p, uint64_t now)
{
    if (p->cfg.frames != 0 && p->sent == p->cfg.frames)
        return TIME_NEVER;
    uint64_t when = probe_when(p, p->sent);

    return when > now ? when : now;
}

/* ---- the mirror ------------------------------------------------------------------------------
 */

void mirror_init(struct mirror *r, const struct mirror_config *cfg)
{
    struct clock clock = {cfg->of->cfg.hz};

    *r = (struct mirror){.cfg = *cfg, .turn = clock_cycles(&clock, cfg->turn_ns)};
}

static void frame_hold(struct mirror *r, const struct segment *s, uint64_t now)
{
    uint32_t i = (r->first + r->count) % PROBE_HELD_MAX;

    if (r->count == PROBE_HELD_MAX) {
        r->full++;
        return;
    }
    r->held[i].at = now + r->turn;
    r->held[i].number = s->number;
    r->held[i].ip_len = (uint16_t)(SEGMENT_IP_BYTES + s->data_len);
    r->count++;
}

void mirror_rx(struct mirror *r, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    struct segment s;

    for (uint16_t i = 0; i < n; i++) {
        if (segment_parse(m[i], &s, NULL) && s.number < r->cfg.of->sent) {
            r->seen[s.number % 2]++;
            hook_tell(&r->cfg.hook, r->cfg.of, &s, now);
            if (r->cfg.reflect)
                frame_hold(r, &s, now);
        }
        rte_pktmbuf_free(m[i]);
    }
}

uint16_t mirror_tx(struct mirror *r, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    uint16_t n = 0;

    while (n < max && r->count > 0 && r->held[r->first].at <= now) {
        m[n] = frame_make(r->cfg.pool, &r->cfg.route, r->held[r->first].number,
                          r->held[r->first].ip_len);
        r->first = (r->first + 1) % PROBE_HELD_MAX;
        r->count--;
        r->full += m[n] == NULL;
        n += m[n] != NULL;
    }
    return n;
}

uint64_t mirror_next(const struct mirror *r, uint64_t now)
{
    if (r->count == 0)
        return TIME_NEVER;
    return r->held[r->first].at > now ? r->held[r->first].at : now;
}

/* ---- as nodes --------------------------------------------------------------------------------
 */

static void probe_node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    probe_rx(self, m, n, now);
}

static uint16_t probe_node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return probe_tx(self, m, max, now);
}

static uint64_t probe_node_next(const void *self, uint64_t now)
{
    return probe_next(self, now);
}

struct node probe_node(struct probe *p)
{
    return (struct node){p, p->cfg.route.sport, probe_node_rx, probe_node_tx, probe_node_next};
}

static void mirror_node_rx(void *self, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    mirror_rx(self, m, n, now);
}

static uint16_t mirror_node_tx(void *self, struct rte_mbuf **m, uint16_t max, uint64_t now)
{
    return mirror_tx(self, m, max, now);
}

static uint64_t mirror_node_next(const void *self, uint64_t now)
{
    return mirror_next(self, now);
}

struct node mirror_node(struct mirror *r)
{
    return (struct node){r, r->cfg.route.sport, mirror_node_rx, mirror_node_tx, mirror_node_next};
}
