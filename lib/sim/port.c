/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/port.h"

#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"

/* The pool of a host's heads (which = 0) or of its payload (1). */
static struct rte_mempool *pool_of(const struct port *p, int which)
{
    const struct host_config *cfg = host_get_config(p->host);

    if (which == 0)
        return cfg->head_pool;
    return cfg->tx_attach ? cfg->attach_pool : cfg->copy_pool;
}

static void frames_push(struct port_frames *f, struct rte_mbuf *m)
{
    if (f->count++ == 0)
        f->head = m;
    else
        f->tail->next = m;
    f->tail = rte_pktmbuf_lastseg(m);
}

static uint16_t frames_pop(struct port_frames *f, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = 0;

    for (; n < max && f->count > 0; n++) {
        struct rte_mbuf *last = f->head;

        for (uint16_t k = 1; k < f->head->nb_segs; k++)
            last = last->next;
        m[n] = f->head;
        f->head = last->next;
        last->next = NULL;
        f->count--;
    }
    return n;
}

bool port_create(struct port *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->cfg.spell[WORLD_HEADS_OUT + i].gap_ns == 0)
            continue;
        p->held[i] = rte_zmalloc("held", pool_of(p, i)->size * sizeof(struct rte_mbuf *), 64);
        if (p->held[i] == NULL)
            return false;
    }
    return true;
}

static void held_give_back(struct port *p, int which)
{
    rte_pktmbuf_free_bulk(p->held[which], p->held_n[which]);
    p->held_n[which] = 0;
}

void port_destroy(struct port *p)
{
    struct rte_mbuf *m;

    while (frames_pop(&p->ring, &m, 1) == 1 || frames_pop(&p->given, &m, 1) == 1)
        rte_pktmbuf_free(m);
    rte_pktmbuf_free_bulk(p->kept + p->kept_first, p->kept_n);
    for (int i = 0; i < 2; i++) {
        held_give_back(p, i);
        rte_free(p->held[i]);
    }
}

/* Updates looked_at. A loop that polls all the time saw an empty ring one poll ago, or one poll
 * before its stall. */
static void port_look(struct port *p, uint64_t now)
{
    uint64_t until = p->trouble[WORLD_STALL] ? p->stalled_at : now;

    if (until <= p->free_at)
        return;
    until = until > p->cfg.poll_ns ? until - p->cfg.poll_ns : 0;
    until = until > p->free_at ? until : p->free_at;
    p->looked_at = until > p->looked_at ? until : p->looked_at;
}

bool port_receive(struct port *p, struct rte_mbuf *m, uint64_t now)
{
    if (p->trouble[WORLD_RX_NO_MBUF]) {
        p->seen.rx_nombuf++;
        rte_pktmbuf_free(m);
        return false;
    }
    if (p->cfg.ring != 0 && p->ring.count == p->cfg.ring) {
        p->seen.imissed += !p->cfg.uncounted;
        rte_pktmbuf_free(m);
        return false;
    }
    if (p->ring.count == 0)
        port_look(p, now);
    if (p->ring.count == 0 && p->cfg.turn_ns != 0 && p->free_at < now + p->cfg.turn_ns)
        p->free_at = now + p->cfg.turn_ns;
    frames_push(&p->ring, m);
    return true;
}

uint16_t port_take(struct port *p, struct rte_mbuf **m, uint16_t max)
{
    uint16_t n = frames_pop(&p->ring, m, max);

    for (uint16_t i = 0; i < n; i++)
        p->work_bytes += m[i]->pkt_len;
    return n;
}

void port_give(struct port *p, struct rte_mbuf *m)
{
    frames_push(&p->given, m);
}

uint16_t port_take_given(struct port *p, struct rte_mbuf **m, uint16_t max)
{
    return frames_pop(&p->given, m, max);
}

void port_trouble(struct port *p, enum world_trouble t, bool on)
{
    int which = (int)t - WORLD_HEADS_OUT;

    p->trouble[t] = on;
    if (which != 0 && which != 1)
        return;
    if (on) {
        struct rte_mempool *pool = pool_of(p, which);
        uint32_t n = rte_mempool_avail_count(pool);

        if (n > 0 && rte_pktmbuf_alloc_bulk(pool, p->held[which], n) == 0)
            p->held_n[which] = n;
    } else {
        held_give_back(p, which);
    }
}

uint64_t port_trouble_wait(struct port *p, enum world_trouble t)
{
    const struct world_spell *s = &p->cfg.spell[t];

    return 1 + rng_below(&p->rng, 2 * (p->trouble[t] ? s->spell_ns : s->gap_ns));
}

uint64_t port_next(const struct port *p, uint64_t now)
{
    if (p->trouble[WORLD_STALL])
        return TIME_NEVER;
    uint64_t next = p->ring.count > 0 || p->given.count > 0 || p->kept_n > 0
                        ? now
                        : time_min(host_next(p->host, now), p->user_at);

    return next == TIME_NEVER || next > p->free_at ? next : p->free_at;
}

void port_polled(struct port *p, uint64_t now)
{
    p->free_at = now + p->cfg.poll_ns;
    if (p->cfg.poll_spread_ns != 0)
        p->free_at += rng_below(&p->rng, p->cfg.poll_spread_ns + 1);
    if (p->user_at <= now)
        p->user_at = TIME_NEVER;
}

uint64_t port_nap(struct port *p, uint64_t now)
{
    struct moderation_nap nap = {.max_tsc = p->cfg.nap_max_ns};
    uint64_t before = p->free_at;

    if (p->cfg.nap_max_ns == 0 || p->ring.count > 0 || p->given.count > 0 || p->kept_n > 0)
        return 0;
    host_moderation(p->host, now, &nap);
    if (nap.served && now + nap.max_tsc > p->free_at)
        p->free_at = now + nap.max_tsc;
    return p->free_at - before;
}

void port_worked(struct port *p, uint16_t n, uint64_t now)
{
    struct host_work *work = &p->seen.worker[0];

    work->bursts += n > 0;
    work->full += n == p->cfg.burst;
    if (p->cfg.service_Bps != 0) {
        uint64_t took = p->work_bytes * WORLD_HZ / p->cfg.service_Bps;

        work->busy += took;
        if (p->free_at < now + took)
            p->free_at = now + took;
    }
    p->work_bytes = 0;
}
