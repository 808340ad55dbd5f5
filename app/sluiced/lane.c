/* SPDX-License-Identifier: BSD-3-Clause */
/* See lane.h. */
#include "sluiced/lane.h"

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>

#include "base/counter.h"
#include "common/clock.h"

static bool lane_active(const struct lane *l)
{
    return __atomic_load_n(&l->active, __ATOMIC_ACQUIRE);
}

void lane_set_active(struct lane *l, bool active)
{
    __atomic_store_n(&l->active, active, __ATOMIC_RELEASE);
}

/* What the host leaves to the kernel, of a burst that it took. How many. */
static uint32_t lane_except(struct lane *l)
{
    struct rte_mbuf *m[PORT_BURST];
    uint32_t did = 0;
    uint16_t n;

    if (!l->exception.on)
        return 0;
    do {
        n = host_exceptions(l->host, m, PORT_BURST);
        exception_put(&l->exception, m, n);
        did += n;
    } while (n == PORT_BURST);
    return did;
}

/* The clock is read again after the port: a worker that lost its core between the two would take
 * late frames for early ones. Frames may have come at any time since the port was found empty. */
static uint32_t lane_receive(struct lane *l, uint64_t *now)
{
    struct rte_mbuf *m[PORT_BURST];
    uint64_t looking_at = *now;
    uint16_t i, n;

    if (!lane_active(l))
        return 0;
    n = rte_eth_rx_burst(l->port_id, l->queue, m, PORT_BURST);
    host_looked(l->host, l->looked_at);
    if (n < PORT_BURST)
        l->looked_at = looking_at;
    if (n == 0)
        return 0;
    *now = clock_now();
    for (i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
    counter_add(&l->counters.rx_frames, n);
    counter_add(&l->counters.rx_bursts, 1);
    if (n == PORT_BURST)
        counter_add(&l->counters.rx_full_bursts, 1);
    host_rx(l->host, m, n, *now);
    return n - lane_except(l);
}

/* ---- frames of other workers ------------------------------------------------------------- */

static void foreign_put(struct lane *l, struct rte_mbuf *m, uint8_t worker)
{
    if (worker < l->workers && l->out[worker] != NULL &&
        rte_ring_sp_enqueue(l->out[worker], m) == 0) {
        counter_add(&l->counters.foreign_out, 1);
        return;
    }
    counter_add(&l->counters.foreign_dropped, 1);
    rte_pktmbuf_free(m);
}

static void foreign_copy(struct lane *l, struct rte_mbuf *m)
{
    uint8_t w;

    for (w = 0; w < l->workers; w++) {
        struct rte_mbuf *copy;

        if (l->out[w] == NULL)
            continue; /* our own number */
        copy = rte_pktmbuf_copy(m, l->copies, 0, UINT32_MAX);
        if (copy != NULL)
            foreign_put(l, copy, w);
        else
            counter_add(&l->counters.foreign_dropped, 1);
    }
    if (l->exception.on) /* for the kernel too, once */
        exception_put(&l->exception, &m, 1);
    else
        rte_pktmbuf_free(m);
}

static void lane_give_foreign(struct lane *l)
{
    struct rte_mbuf *m[PORT_BURST];
    uint8_t worker[PORT_BURST];
    uint16_t i, n;

    do {
        n = host_foreign(l->host, m, worker, PORT_BURST);
        for (i = 0; i < n; i++) {
            if (worker[i] == HOST_WORKER_ALL)
                foreign_copy(l, m[i]);
            else
                foreign_put(l, m[i], worker[i]);
        }
    } while (n == PORT_BURST);
}

/* The kernel has what comes from other workers already. */
static void foreign_known(struct lane *l)
{
    struct rte_mbuf *m[PORT_BURST];
    uint16_t n;

    do {
        n = host_exceptions(l->host, m, PORT_BURST);
        rte_pktmbuf_free_bulk(m, n);
    } while (n == PORT_BURST);
}

static uint32_t lane_take_foreign(struct lane *l, uint64_t now)
{
    struct rte_mbuf *m[PORT_BURST];
    uint32_t did = 0;
    uint8_t w;

    for (w = 0; w < l->workers; w++) {
        unsigned int n;

        if (l->in[w] == NULL)
            continue;
        n = rte_ring_sc_dequeue_burst(l->in[w], (void **)m, PORT_BURST, NULL);
        if (n == 0)
            continue;
        counter_add(&l->counters.foreign_in, n);
        host_rx_given(l->host, m, (uint16_t)n, now);
        if (l->exception.on)
            foreign_known(l);
        did += n;
    }
    return did;
}

static uint32_t lane_exchange_foreign(struct lane *l, uint64_t now)
{
    if (l->workers == 1)
        return 0;
    uint32_t did = lane_take_foreign(l, now);

    lane_give_foreign(l); /* behind it, for a FIRST may be handed on */
    return did;
}

/* ---- sending ----------------------------------------------------------------------------- */

/* A port that takes nothing for long (no peer, no link) must not hold the memory of frames. */
static void kept_give_up(struct lane *l, uint64_t now)
{
    if (now - l->kept_since < l->keep_cycles)
        return;
    counter_add(&l->counters.tx_dropped, l->kept_n);
    rte_pktmbuf_free_bulk(l->kept + l->kept_first, l->kept_n);
    l->kept_first = l->kept_n = 0;
    l->kept_since = now;
}

static uint32_t kept_offer(struct lane *l, uint64_t now)
{
    uint16_t sent = 0;

    if (lane_active(l))
        sent = rte_eth_tx_burst(l->port_id, l->queue, l->kept + l->kept_first, l->kept_n);
    l->kept_n = (uint16_t)(l->kept_n - sent);
    l->kept_first = l->kept_n > 0 ? (uint16_t)(l->kept_first + sent) : 0;
    if (sent > 0) {
        counter_add(&l->counters.tx_frames, sent);
        l->kept_since = now;
        l->clean_wait = l->clean_first;
        l->clean_due = now + l->clean_wait;
    }
    if (l->kept_n > 0) {
        counter_add(&l->counters.tx_refused, 1);
        kept_give_up(l, now);
    }
    return sent;
}

/* A quiet NIC keeps the last frames sent, and with them an application's memory, in its ring. It is
 * asked ever more rarely: a link that is slow or paused may still have some to send. */
static void lane_cleanup(struct lane *l, uint64_t now)
{
    if (!l->done_cleanup || now < l->clean_due)
        return;
    if (lane_active(l))
        rte_eth_tx_done_cleanup(l->port_id, l->queue, 0);
    l->clean_wait = RTE_MIN(2 * l->clean_wait, l->clean_most);
    l->clean_due = now + l->clean_wait;
}

/* The host's times become the port's. */
static void kept_times(struct lane *l, uint64_t now)
{
    const struct port *p = l->port;

    nic_clock_follow(&l->clock, now);
    for (uint16_t i = 0; i < l->kept_n; i++) {
        uint64_t *at = RTE_MBUF_DYNFIELD(l->kept[i], p->tx_time_offset, uint64_t *);

        if ((l->kept[i]->ol_flags & p->tx_time_flag) != 0)
            *at = clock_map_at(&l->clock.map, *at);
    }
}

/* busy: there is other work. */
static uint32_t lane_transmit(struct lane *l, bool busy, uint64_t now)
{
    if (l->kept_n > 0) {
        uint32_t sent;

        if (l->kept_first < l->kept_own)
            host_stamp(l->host, l->kept + l->kept_first, (uint16_t)(l->kept_own - l->kept_first),
                       now);
        sent = kept_offer(l, now);

        if (l->kept_n > 0) {
            /* Timers run, whatever the port does. */
            host_tx(l->host, l->kept, 0, now);
            return sent;
        }
    }
    l->kept_own = l->kept_n = host_tx(l->host, l->kept, PORT_BURST, now);
    if (l->timed)
        kept_times(l, now);
    if (l->exception.on) /* behind the host's, so that they are on time */
        l->kept_n = (uint16_t)(l->kept_n + exception_take(&l->exception, l->kept + l->kept_n,
                                                          busy || l->kept_n > 0));
    if (l->kept_n == 0) {
        lane_cleanup(l, now);
        return 0;
    }
    l->kept_since = now;
    return kept_offer(l, now);
}

uint32_t lane_run(struct lane *l, uint64_t now)
{
    uint32_t did = l->cable != NULL && lane_active(l) ? cable_run(l->cable) : 0, events;

    did += lane_receive(l, &now);
    did += lane_exchange_foreign(l, now);
    events = channels_poll(l->channels, now);
    if (events > 0)
        counter_add(&l->counters.client_events, events);
    did += events;
    did +=
        lane_transmit(l, did > 0, did > 0 ? clock_now() : now); /* by which packets are stamped */
    return l->exception.on ? did + exception_give(&l->exception, did > 0) : did;
}

uint64_t lane_next(const struct lane *l, uint64_t now)
{
    uint64_t next = l->kept_n > 0 || l->exception.n > 0 ? now : host_next(l->host, now);

    if (l->cable != NULL)
        next = RTE_MIN(next, cable_next(l->cable));
    return l->done_cleanup ? RTE_MIN(next, l->clean_due) : next;
}

/* ---- life -------------------------------------------------------------------------------- */

void lane_set_hz(struct lane *l, uint64_t hz)
{
    l->keep_cycles = hz / 1000 * LANE_KEEP_MS;
    l->clean_first = l->clean_wait = hz / 1000000 * LANE_CLEAN_US;
    l->clean_most = hz / 1000 * LANE_CLEAN_MOST_MS;
}

void lane_drain(struct lane *l)
{
    void *m;
    uint8_t w;

    rte_pktmbuf_free_bulk(l->kept + l->kept_first, l->kept_n);
    l->kept_first = l->kept_n = 0;
    exception_drain(&l->exception);
    for (w = 0; w < l->workers; w++) {
        while (l->in[w] != NULL && rte_ring_sc_dequeue(l->in[w], &m) == 0)
            rte_pktmbuf_free(m);
    }
}

int lane_join(struct lane *lanes, uint32_t n, char *err, size_t err_len)
{
    char name[RTE_RING_NAMESIZE];
    uint32_t from, to;

    for (from = 0; from < n; from++) {
        for (to = 0; to < n; to++) {
            struct rte_ring *r;

            if (from == to)
                continue;
            snprintf(name, sizeof name, "foreign_%u_%u_%u", lanes[0].port_id,
                     (unsigned int)(uint8_t)from, (unsigned int)(uint8_t)to);
            r = rte_ring_create(name, PORT_FOREIGN, lanes[0].port->socket,
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
            if (r == NULL) {
                snprintf(err, err_len,
                         "port %s: no memory for the rings between %u workers (%s); give more with "
                         "-m MB before --",
                         lanes[0].port->cfg->name, n, rte_strerror(rte_errno));
                return -ENOMEM;
            }
            lanes[from].out[to] = r;
            lanes[to].in[from] = r;
        }
    }
    return 0;
}

void lane_part(struct lane *lanes, uint32_t n)
{
    uint32_t from, to;

    for (from = 0; from < n; from++) {
        for (to = 0; to < n; to++) {
            rte_ring_free(lanes[from].out[to]);
            lanes[from].out[to] = NULL;
            lanes[to].in[from] = NULL;
        }
    }
}
