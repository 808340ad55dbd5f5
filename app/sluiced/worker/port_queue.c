/* SPDX-License-Identifier: BSD-3-Clause */
/* See port_queue.h. */
#include "sluiced/worker/port_queue.h"

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>

#include "base/counter.h"
#include "common/clock.h"
#include "drivers/device.h"

static bool port_queue_active(const struct port_queue *q)
{
    return __atomic_load_n(&q->active, __ATOMIC_ACQUIRE);
}

void port_queue_set_active(struct port_queue *q, bool active)
{
    __atomic_store_n(&q->active, active, __ATOMIC_RELEASE);
}

/* Queues for the kernel those frames of the last host_rx() that are not Sluice's. Returns how many.
 */
static uint32_t port_queue_except(struct port_queue *q)
{
    struct rte_mbuf *m[PORT_BURST];
    uint32_t did = 0;
    uint16_t n;

    if (!q->exception.on)
        return 0;
    do {
        n = host_exceptions(q->host, m, PORT_BURST);
        exception_put(&q->exception, m, n);
        did += n;
    } while (n == PORT_BURST);
    return did;
}

/* Reads the clock again after polling the port: a worker that lost its core in between would take
 * late frames for early ones. Also tells the host when the port was last found empty: the frames
 * may have arrived at any time since. */
static uint32_t port_queue_receive(struct port_queue *q, uint64_t *now)
{
    struct rte_mbuf *m[PORT_BURST];
    struct capture_queue *captures;
    uint64_t looking_at = *now;
    uint16_t i, n;

    if (!port_queue_active(q))
        return 0;
    n = device_rx(q->port_id, q->queue, m, PORT_BURST);
    host_looked(q->host, q->looked_at);
    if (n < PORT_BURST)
        q->looked_at = looking_at;
    if (n == 0)
        return 0;
    *now = clock_now();
    for (i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
    counter_add(&q->counters.rx_frames, n);
    counter_add(&q->counters.rx_bursts, 1);
    if (n == PORT_BURST)
        counter_add(&q->counters.rx_full_bursts, 1);
    captures = capture_first(&q->captures);
    if (unlikely(captures != NULL))
        capture_rx(captures, m, n, *now);
    host_rx(q->host, m, n, *now);
    return n - port_queue_except(q);
}

/* ---- frames of other workers ------------------------------------------------------------- */

static void foreign_put(struct port_queue *q, struct rte_mbuf *m, uint8_t worker)
{
    if (worker < q->workers && q->out[worker] != NULL &&
        rte_ring_sp_enqueue(q->out[worker], m) == 0) {
        counter_add(&q->counters.foreign_out, 1);
        return;
    }
    counter_add(&q->counters.foreign_dropped, 1);
    rte_pktmbuf_free(m);
}

static void foreign_copy(struct port_queue *q, struct rte_mbuf *m)
{
    uint8_t w;

    for (w = 0; w < q->workers; w++) {
        struct rte_mbuf *copy;

        if (q->out[w] == NULL)
            continue; /* q's own worker */
        copy = rte_pktmbuf_copy(m, q->copies, 0, UINT32_MAX);
        if (copy != NULL)
            foreign_put(q, copy, w);
        else
            counter_add(&q->counters.foreign_dropped, 1);
    }
    if (q->exception.on) /* the kernel gets the frame, too, but only once */
        exception_put(&q->exception, &m, 1);
    else
        rte_pktmbuf_free(m);
}

static void port_queue_give_foreign(struct port_queue *q)
{
    struct rte_mbuf *m[PORT_BURST];
    uint8_t worker[PORT_BURST];
    uint16_t i, n;

    do {
        n = host_foreign(q->host, m, worker, PORT_BURST);
        for (i = 0; i < n; i++) {
            if (worker[i] == HOST_WORKER_ALL)
                foreign_copy(q, m[i]);
            else
                foreign_put(q, m[i], worker[i]);
        }
    } while (n == PORT_BURST);
}

/* Frees frames for the kernel among those that other workers handed over: the kernel has got them
 * from foreign_copy(). */
static void foreign_known(struct port_queue *q)
{
    struct rte_mbuf *m[PORT_BURST];
    uint16_t n;

    do {
        n = host_exceptions(q->host, m, PORT_BURST);
        rte_pktmbuf_free_bulk(m, n);
    } while (n == PORT_BURST);
}

static uint32_t port_queue_take_foreign(struct port_queue *q, uint64_t now)
{
    struct rte_mbuf *m[PORT_BURST];
    uint32_t did = 0;
    uint8_t w;

    for (w = 0; w < q->workers; w++) {
        unsigned int n;

        if (q->in[w] == NULL)
            continue;
        n = rte_ring_sc_dequeue_burst(q->in[w], (void **)m, PORT_BURST, NULL);
        if (n == 0)
            continue;
        counter_add(&q->counters.foreign_in, n);
        host_rx_given(q->host, m, (uint16_t)n, now);
        if (q->exception.on)
            foreign_known(q);
        did += n;
    }
    return did;
}

static uint32_t port_queue_exchange_foreign(struct port_queue *q, uint64_t now)
{
    if (q->workers == 1)
        return 0;
    uint32_t did = port_queue_take_foreign(q, now);

    port_queue_give_foreign(q); /* after taking: a FIRST just taken may be handed on */
    return did;
}

/* ---- sending ----------------------------------------------------------------------------- */

/* A port that takes nothing for long (no peer, no link) must not hold up the frames' memory. */
static void kept_give_up(struct port_queue *q, uint64_t now)
{
    if (now - q->kept_since < q->keep_cycles)
        return;
    counter_add(&q->counters.tx_dropped, q->kept_n);
    rte_pktmbuf_free_bulk(q->kept + q->kept_first, q->kept_n);
    q->kept_first = q->kept_n = 0;
    q->kept_since = now;
}

/* Offers the port frames that somebody captures. */
static uint16_t captured_tx(struct port_queue *q, struct capture_queue *captures, uint64_t now)
{
    struct rte_mbuf **m = q->kept + q->kept_first;
    uint16_t sent;

    capture_tx(captures, m, q->kept_n, now);
    sent = device_tx(q->port_id, q->queue, m, q->kept_n);
    capture_tx_done(captures, sent);
    return sent;
}

static uint32_t kept_offer(struct port_queue *q, uint64_t now)
{
    struct capture_queue *captures = capture_first(&q->captures);
    uint16_t sent = 0;

    if (port_queue_active(q))
        sent = likely(captures == NULL)
                   ? device_tx(q->port_id, q->queue, q->kept + q->kept_first, q->kept_n)
                   : captured_tx(q, captures, now);
    q->kept_n = (uint16_t)(q->kept_n - sent);
    q->kept_first = q->kept_n > 0 ? (uint16_t)(q->kept_first + sent) : 0;
    if (sent > 0) {
        counter_add(&q->counters.tx_frames, sent);
        q->kept_since = now;
        q->clean_wait = q->clean_first;
        q->clean_due = now + q->clean_wait;
    }
    if (q->kept_n > 0) {
        counter_add(&q->counters.tx_refused, 1);
        kept_give_up(q, now);
    }
    return sent;
}

/* A quiet NIC keeps the last sent frames, and with them an application's memory, in its ring. It is
 * asked to let go of them at growing intervals, as a slow or paused link may still have frames to
 * send. */
static void port_queue_cleanup(struct port_queue *q, uint64_t now)
{
    if (!q->done_cleanup || now < q->clean_due)
        return;
    if (port_queue_active(q))
        rte_eth_tx_done_cleanup(q->port_id, q->queue, 0);
    q->clean_wait = RTE_MIN(2 * q->clean_wait, q->clean_max);
    q->clean_due = now + q->clean_wait;
}

/* Converts the times at which the host wants frames sent to the port's clock. */
static void kept_times(struct port_queue *q, uint64_t now)
{
    const struct port *p = q->port;

    nic_clock_follow(&q->clock, now);
    for (uint16_t i = 0; i < q->kept_n; i++) {
        uint64_t *at = RTE_MBUF_DYNFIELD(q->kept[i], p->tx_time_offset, uint64_t *);

        if ((q->kept[i]->ol_flags & p->tx_time_flag) != 0)
            *at = clock_map_at(&q->clock.map, *at);
    }
}

/* Adds frames of the kernel to those to be sent. */
static void kernel_take(struct port_queue *q, bool busy)
{
    uint16_t n = exception_take(&q->exception, q->kept + q->kept_n, busy);

    q->kept_n = (uint16_t)(q->kept_n + n);
    if (n > 0)
        host_forbid_naps(q->host);
}

/* busy: the worker has other work. */
static uint32_t port_queue_transmit(struct port_queue *q, bool busy, uint64_t now)
{
    if (q->kept_n > 0) {
        uint32_t sent;

        if (q->kept_first < q->kept_own)
            host_stamp(q->host, q->kept + q->kept_first, (uint16_t)(q->kept_own - q->kept_first),
                       now);
        sent = kept_offer(q, now);

        if (q->kept_n > 0) {
            /* The host's timers must run even if the port takes no frames. */
            host_tx(q->host, q->kept, 0, now);
            return sent;
        }
    }
    q->kept_own = q->kept_n = host_tx(q->host, q->kept, PORT_BURST, now);
    if (q->timed)
        kept_times(q, now);
    if (q->exception.on) /* after the host's frames, which must be on time */
        kernel_take(q, busy || q->kept_n > 0);
    if (q->kept_n == 0) {
        port_queue_cleanup(q, now);
        return 0;
    }
    q->kept_since = now;
    return kept_offer(q, now);
}

uint32_t port_queue_run(struct port_queue *q, uint64_t now)
{
    uint32_t did = q->cable != NULL && port_queue_active(q) ? cable_run(q->cable) : 0, events;
    bool busy;

    did += port_queue_receive(q, &now);
    did += port_queue_exchange_foreign(q, now);
    events = channels_poll(q->channels, now);
    if (events > 0)
        counter_add(&q->counters.client_events, events);
    did += events;
    busy = did > 0;
    did += port_queue_transmit(q, busy, busy ? clock_now() : now); /* packets' timestamps */
    if (!q->exception.on)
        return did;
    busy = busy || q->kept_own > 0; /* frames that the kernel sent are no work of Sluice's */
    return did + exception_give(&q->exception, busy, now);
}

uint64_t port_queue_next(const struct port_queue *q, uint64_t now)
{
    uint64_t next = q->kept_n > 0 || q->exception.n > 0 ? now : host_next(q->host, now);

    if (q->cable != NULL)
        next = RTE_MIN(next, cable_next(q->cable));
    return q->done_cleanup ? RTE_MIN(next, q->clean_due) : next;
}

void port_queue_moderation(struct port_queue *q, uint64_t now, struct moderation_nap *nap)
{
    host_moderation(q->host, now, nap);
    if (q->kept_n > 0 || q->exception.n > 0 || q->cable != NULL)
        nap->max_tsc = 0;
}

/* ---- life -------------------------------------------------------------------------------- */

void port_queue_set_hz(struct port_queue *q, uint64_t hz)
{
    q->keep_cycles = hz / 1000 * PORT_QUEUE_KEEP_MS;
    q->clean_first = q->clean_wait = hz / 1000000 * PORT_QUEUE_CLEAN_US;
    q->clean_max = hz / 1000 * PORT_QUEUE_CLEAN_MAX_MS;
}

void port_queue_drain(struct port_queue *q)
{
    void *m;
    uint8_t w;

    rte_pktmbuf_free_bulk(q->kept + q->kept_first, q->kept_n);
    q->kept_first = q->kept_n = 0;
    exception_drain(&q->exception);
    for (w = 0; w < q->workers; w++) {
        while (q->in[w] != NULL && rte_ring_sc_dequeue(q->in[w], &m) == 0)
            rte_pktmbuf_free(m);
    }
}

int port_queue_join(struct port_queue *queues, uint32_t n, char *err, size_t err_len)
{
    char name[RTE_RING_NAMESIZE];
    uint32_t from, to;

    for (from = 0; from < n; from++) {
        for (to = 0; to < n; to++) {
            struct rte_ring *r;

            if (from == to)
                continue;
            snprintf(name, sizeof name, "foreign_%u_%u_%u", queues[0].port_id,
                     (unsigned int)(uint8_t)from, (unsigned int)(uint8_t)to);
            r = rte_ring_create(name, PORT_FOREIGN, queues[0].port->socket,
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
            if (r == NULL) {
                snprintf(err, err_len,
                         "port %s: no memory for the rings between %u workers (%s); give more with "
                         "-m MB before --",
                         queues[0].port->cfg->name, n, rte_strerror(rte_errno));
                return -ENOMEM;
            }
            queues[from].out[to] = r;
            queues[to].in[from] = r;
        }
    }
    return 0;
}

void port_queue_part(struct port_queue *queues, uint32_t n)
{
    uint32_t from, to;

    for (from = 0; from < n; from++) {
        for (to = 0; to < n; to++) {
            rte_ring_free(queues[from].out[to]);
            queues[from].out[to] = NULL;
            queues[to].in[from] = NULL;
        }
    }
}
