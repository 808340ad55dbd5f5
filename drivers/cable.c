/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/cable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/counter.h"
#include "drivers/device.h"

#define OLD_PATHS   8u
#define SEND_BURSTS 8u /* bursts sent in a round, for each burst received */

/* A path whose successor is already in use. */
struct old_path {
    struct path *path; /* NULL: free. Set by cable_run(), cleared by control */
    bool empty;        /* set by cable_run(): control may destroy the path */
};

/* Frames that a path has given and a queue has not taken yet. */
struct kept {
    uint16_t first, n;
    bool stuck; /* atomic: frames were dropped, and the queue has not taken a whole burst since */
    uint64_t since; /* when the queue last took a frame, or the first of these was given */
    uint64_t bytes; /* of the whole burst, as given; 0 once counted */
    struct rte_mbuf *m[CABLE_BURST];
};

/* One thread runs a direction; another one may run the other direction. */
struct direction {
    uint16_t rx, tx;
    uint16_t queue, queues;     /* of both ports: the first one, and how many */
    struct rte_ring *from, *to; /* instead of rx, tx: the other ends of a made port's rings */
    struct offload *offload;    /* NULL: frames are as a wire has them */
    struct path *path;
    struct path *wanted; /* set by control, taken by cable_run() */
    uint64_t wanted_at;  /* when the wanted path begins, by control's TSC */
    struct old_path old[OLD_PATHS];
    uint32_t n_old;      /* old paths that are not empty yet */
    uint64_t now, ahead; /* by clock_steady(): never goes back, even if the TSC does */
    uint64_t last_run;   /* when the last round began */
    bool moved;          /* the last round moved packets */
    struct cable_counts counts;
    struct path *current;               /* the newest path, for control */
    struct kept kept[CABLE_QUEUES_MAX]; /* [k]: for queue + k of the port that sends */
} __rte_cache_aligned;

struct cable {
    struct cable_config cfg;
    struct direction dir[2];
    uint64_t keep_cycles;
    struct rte_ring *rings[4]; /* rx and tx of each made port */
    bool made[2];
};

/* ---- making and unmaking ------------------------------------------------------------------ */

static struct path *path_new(const struct cable *w, unsigned int i, const char *spec, uint64_t now,
                             char *err, size_t err_len)
{
    struct path_config cfg = {
        .hz = w->cfg.hz,
        .seed = w->cfg.seed + i,
        .copy = w->cfg.queue,
        .packets_max = w->cfg.packets_max[i],
        .pool = w->cfg.pool,
        /* a frame kept as bytes would forget the queue that it came from */
        .compact_bytes = w->cfg.queues[i] > 1 ? 0 : w->cfg.compact_bytes,
    };

    return path_create(spec, &cfg, now, err, err_len);
}

static int end_make(struct cable *w, unsigned int end, char *err, size_t err_len)
{
    struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_NONE}};
    unsigned int socket = w->cfg.socket >= 0 ? (unsigned int)w->cfg.socket : 0;
    char name[RTE_ETH_NAME_MAX_LEN];
    int port, rc = 0;

    for (unsigned int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%s_%u%u", w->cfg.name, end, k);
        w->rings[2 * end + k] =
            rte_ring_create(name, CABLE_RING, w->cfg.socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (w->rings[2 * end + k] == NULL) {
            snprintf(err, err_len, "cable %s: no memory for its rings (%s)", w->cfg.name,
                     rte_strerror(rte_errno));
            return -ENOMEM;
        }
    }
    snprintf(name, sizeof name, "%s%u", w->cfg.name, end);
    port = rte_eth_from_rings(name, &w->rings[2 * end], 1, &w->rings[2 * end + 1], 1, socket);
    if (port >= 0) {
        w->made[end] = true;
        w->cfg.port[end] = (uint16_t)port;
        rc = rte_eth_dev_configure((uint16_t)port, 1, 1, &conf);
        if (rc == 0)
            rc = rte_eth_rx_queue_setup((uint16_t)port, 0, CABLE_RING, socket, NULL, w->cfg.pool);
        if (rc == 0)
            rc = rte_eth_tx_queue_setup((uint16_t)port, 0, CABLE_RING, socket, NULL);
        if (rc == 0)
            rc = rte_eth_dev_start((uint16_t)port);
    }
    if (port < 0 || rc != 0) {
        snprintf(err, err_len, "cable %s: no ring port to be had (%s)", w->cfg.name,
                 rte_strerror(port < 0 ? rte_errno : -rc));
        return -EIO;
    }
    return 0;
}

static int direction_make(struct cable *w, unsigned int i, char *err, size_t err_len)
{
    struct direction *d = &w->dir[i];
    char why[512];

    d->queue = w->cfg.queue;
    d->queues = w->cfg.queues[i];
    d->now = rte_rdtsc();
    CHECK(d->queues <= CABLE_QUEUES_MAX);
    if (d->queues == 0)
        return 0;
    d->path = d->current = path_new(w, i, w->cfg.spec[i], d->now, why, sizeof why);
    if (d->path != NULL)
        return 0;
    snprintf(err, err_len, "%s path: %s", i == 0 ? "forward" : "reverse", why);
    return -EINVAL;
}

struct cable *cable_create(const struct cable_config *cfg, char *err, size_t err_len)
{
    struct cable *w = rte_zmalloc_socket("cable", sizeof *w, 64, cfg->socket);
    int rc = 0;

    if (w == NULL) {
        snprintf(err, err_len, "cable %s: no memory", cfg->name);
        return NULL;
    }
    w->cfg = *cfg;
    w->keep_cycles = cfg->hz / 1000 * CABLE_KEEP_MS;
    for (unsigned int i = 0; i < 2 && rc == 0; i++) {
        rc = direction_make(w, i, err, err_len);
        if (rc == 0 && cfg->port[i] == CABLE_MAKE) {
            CHECK(cfg->queue == 0 && cfg->queues[0] == 1 && cfg->queues[1] == 1);
            rc = end_make(w, i, err, err_len);
        }
    }
    if (rc != 0) {
        cable_destroy(w);
        return NULL;
    }
    for (unsigned int i = 0; i < 2; i++) {
        w->dir[i].rx = w->cfg.port[i];
        w->dir[i].offload = w->cfg.offload[i];
        w->dir[i].tx = w->cfg.port[1 - i];
        if (w->made[i])
            w->dir[i].from = w->rings[2 * i + 1];
        if (w->made[1 - i])
            w->dir[i].to = w->rings[2 * (1 - i)];
    }
    return w;
}

static void ring_free(struct rte_ring *r)
{
    void *m;

    while (r != NULL && rte_ring_sc_dequeue(r, &m) == 0)
        rte_pktmbuf_free(m);
    rte_ring_free(r);
}

void cable_destroy(struct cable *w)
{
    if (w == NULL)
        return;
    for (unsigned int i = 0; i < 2; i++) {
        struct direction *d = &w->dir[i];

        for (uint16_t q = 0; q < d->queues; q++)
            rte_pktmbuf_free_bulk(d->kept[q].m + d->kept[q].first, d->kept[q].n);
        path_destroy(d->path);
        path_destroy(d->wanted);
        for (uint32_t k = 0; k < OLD_PATHS; k++)
            path_destroy(d->old[k].path);
        if (w->made[i]) {
            struct rte_eth_dev_info info;
            int rc = rte_eth_dev_info_get(w->cfg.port[i], &info);

            rte_eth_dev_stop(w->cfg.port[i]);
            rte_eth_dev_close(w->cfg.port[i]);
            if (rc == 0)
                rte_dev_remove(info.device); /* so that the port's name can be used again */
        }
    }
    for (unsigned int k = 0; k < RTE_DIM(w->rings); k++)
        ring_free(w->rings[k]);
    rte_free(w);
}

uint16_t cable_port(const struct cable *w, unsigned int end)
{
    CHECK(end < 2);
    return w->cfg.port[end];
}

/* ---- running ------------------------------------------------------------------------------ */

static inline uint64_t now_read(struct direction *d)
{
    return clock_steady(&d->ahead, &d->now, d->ahead, rte_rdtsc());
}

/* Takes over the path that control wants. The old path goes on until it is empty. */
static void path_take(struct direction *d)
{
    for (uint32_t k = 0; k < OLD_PATHS; k++) {
        struct path *wanted;

        if (__atomic_load_n(&d->old[k].path, __ATOMIC_ACQUIRE) != NULL)
            continue;
        wanted = __atomic_exchange_n(&d->wanted, NULL, __ATOMIC_ACQ_REL);
        if (wanted == NULL)
            return;
        d->old[k].empty = false;
        __atomic_store_n(&d->old[k].path, d->path, __ATOMIC_RELEASE);
        d->n_old++;
        d->path = wanted;
        d->now = RTE_MAX(d->now, d->wanted_at);
        return;
    }
}

/* Copies frames that other code of this process sent: the frames may share memory with that code,
 * and belong to its pools. */
static uint16_t copies_make(struct cable *w, struct direction *d, struct rte_mbuf **m, uint16_t n)
{
    uint16_t kept = 0;

    for (uint16_t i = 0; i < n; i++) {
        struct rte_mbuf *copy = rte_pktmbuf_copy(m[i], w->cfg.pool, 0, UINT32_MAX);

        rte_pktmbuf_free(m[i]);
        if (copy != NULL)
            m[kept++] = copy;
        else
            counter_add(&d->counts.drop_no_mbuf, 1);
    }
    return kept;
}

/* Notes in each frame which queue it came from: it leaves by the same one. */
static void frames_mark(const struct direction *d, struct rte_mbuf **m, uint16_t n, uint16_t queue)
{
    for (uint16_t i = 0; i < n && d->queues > 1; i++)
        m[i]->hash.txadapter.txq = queue;
}

static void path_enter(struct direction *d, struct rte_mbuf **m, uint16_t n, uint16_t queue,
                       uint64_t now)
{
    struct rte_mbuf *made[CABLE_BURST];

    if (d->offload == NULL) {
        frames_mark(d, m, n, queue);
        path_push(d->path, m, n, now);
        return;
    }
    for (uint16_t i = 0; i < n; i++) {
        uint16_t k;

        offload_take(d->offload, m[i]);
        while ((k = offload_give(d->offload, made, CABLE_BURST)) > 0) {
            frames_mark(d, made, k, queue);
            path_push(d->path, made, k, now);
        }
    }
}

static uint32_t receive(struct cable *w, struct direction *d, uint16_t queue)
{
    const struct path_counts *c = path_counts(d->path);
    struct rte_mbuf *m[CABLE_BURST];
    uint64_t now, before;
    uint16_t n;

    if (d->from != NULL)
        n = (uint16_t)rte_ring_sc_dequeue_burst(d->from, (void **)m, CABLE_BURST, NULL);
    else
        n = device_rx(d->rx, (uint16_t)(d->queue + queue), m, CABLE_BURST);
    now = now_read(d);
    if (n == 0)
        return 0;
    counter_add(&d->counts.rx_packets, n);
    if (d->from != NULL)
        n = copies_make(w, d, m, n);
    before = c->in_bytes;
    path_enter(d, m, n, queue, now);
    counter_add(&d->counts.rx_bytes, c->in_bytes - before);
    return n;
}

/* None of the burst is left: counts the bytes of it that were sent. */
static void kept_count(struct direction *d, struct kept *k, uint64_t dropped_bytes)
{
    counter_add(&d->counts.tx_bytes, k->bytes - dropped_bytes);
    k->bytes = 0;
}

/* Drops the kept frames. */
static void kept_drop(struct direction *d, struct kept *k)
{
    uint64_t bytes = 0;

    for (uint16_t i = 0; i < k->n; i++)
        bytes += k->m[k->first + i]->pkt_len;
    kept_count(d, k, bytes);
    counter_add(&d->counts.tx_dropped, k->n);
    rte_pktmbuf_free_bulk(k->m + k->first, k->n);
    k->first = k->n = 0;
    __atomic_store_n(&k->stuck, true, __ATOMIC_RELAXED);
}

/* Offers the kept frames to the port; true if none is left. */
static bool kept_offer(struct cable *w, struct direction *d, struct kept *k)
{
    struct rte_mbuf **first = k->m + k->first;
    uint16_t queue = (uint16_t)(d->queue + (k - d->kept)), sent;

    if (d->to != NULL)
        sent = (uint16_t)rte_ring_sp_enqueue_burst(d->to, (void **)first, k->n, NULL);
    else
        sent = device_tx(d->tx, queue, first, k->n);
    counter_add(&d->counts.tx_packets, sent);
    k->n = (uint16_t)(k->n - sent);
    k->first = (uint16_t)(k->n > 0 ? k->first + sent : 0);
    if (k->n == 0) {
        kept_count(d, k, 0);
        if (k->stuck)
            __atomic_store_n(&k->stuck, false, __ATOMIC_RELAXED);
        return true;
    }
    /* Several queues must not wait for one of them again and again. */
    if (!k->stuck || d->queues == 1) {
        uint64_t now = now_read(d);

        if (sent > 0)
            k->since = now;
        if (now - k->since <= w->keep_cycles)
            return false;
    }
    kept_drop(d, k);
    return d->queues > 1;
}

/* Offers all kept frames; true if none is left. */
static bool all_offer(struct cable *w, struct direction *d)
{
    bool empty = true;

    for (uint16_t q = 0; q < d->queues; q++)
        if (d->kept[q].n > 0 && !kept_offer(w, d, &d->kept[q]))
            empty = false;
    return empty;
}

/* Puts each frame to those kept for its queue, in order; none are kept yet. */
static void frames_deal(struct direction *d, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    for (uint16_t i = 0; i < n; i++) {
        struct kept *k = &d->kept[m[i]->hash.txadapter.txq % d->queues];

        if (k->n == 0)
            k->since = now;
        k->bytes += m[i]->pkt_len;
        k->m[k->n++] = m[i];
    }
}

/* Sends a burst of a path. *clear: the port has taken all of it, or it was dropped. */
static uint32_t path_send(struct cable *w, struct direction *d, struct path *p, bool *clear)
{
    uint64_t at[CABLE_BURST], now, before = path_counts(p)->out_bytes;
    bool several = d->queues > 1;
    struct rte_mbuf *m[CABLE_BURST], **to = several ? m : d->kept[0].m;
    uint16_t n = path_pop_times(p, to, at, CABLE_BURST, now_read(d));

    *clear = true;
    if (n == 0)
        return 0;
    now = now_read(d);
    if (several) {
        frames_deal(d, m, n, now);
    } else {
        d->kept[0].n = n;
        d->kept[0].since = now;
        d->kept[0].bytes = path_counts(p)->out_bytes - before;
    }
    for (uint16_t i = 0; i < n; i++)
        histogram_add(&d->counts.late, now - at[i]);
    *clear = all_offer(w, d);
    return n;
}

static uint32_t transmit(struct cable *w, struct direction *d)
{
    bool clear = all_offer(w, d);
    uint32_t n = 0;

    if (!clear)
        return 0;
    for (uint32_t k = 0; d->n_old > 0 && k < OLD_PATHS; k++) {
        struct old_path *o = &d->old[k];

        if (o->path == NULL || o->empty)
            continue;
        n += path_send(w, d, o->path, &clear);
        if (path_counts(o->path)->held_packets == 0) {
            d->n_old--;
            __atomic_store_n(&o->empty, true, __ATOMIC_RELEASE);
        }
        if (!clear)
            return n;
    }
    /* Packets that are due go before new ones: an overloaded box loses frames at its entrance, but
     * is not late. */
    for (uint32_t bursts = 0; bursts < SEND_BURSTS * d->queues && clear; bursts++) {
        uint32_t sent = path_send(w, d, d->path, &clear);

        n += sent;
        if (sent < CABLE_BURST)
            break;
    }
    return n;
}

static uint32_t direction_run(struct cable *w, struct direction *d)
{
    uint64_t now = now_read(d);
    uint32_t moved = 0;

    if (d->moved)
        histogram_add(&d->counts.round, now - d->last_run);
    d->last_run = now;
    if (__atomic_load_n(&d->wanted, __ATOMIC_RELAXED) != NULL)
        path_take(d);
    for (uint16_t q = 0; q < d->queues; q++)
        moved += receive(w, d, q);
    moved += transmit(w, d);
    d->moved = moved > 0;
    return moved;
}

uint32_t cable_run_direction(struct cable *w, unsigned int i)
{
    return w->dir[i].queues > 0 ? direction_run(w, &w->dir[i]) : 0;
}

uint32_t cable_run(struct cable *w)
{
    uint32_t n = 0;

    for (unsigned int i = 0; i < 2; i++) {
        struct direction *other = &w->dir[1 - i];
        uint32_t moved = cable_run_direction(w, i);

        n += moved;
        /* packets that came due during the other direction's turn do not wait for another round */
        if (moved < CABLE_BURST && other->queues > 0)
            n += transmit(w, other);
    }
    return n;
}

uint64_t cable_next(const struct cable *w)
{
    uint64_t next = TIME_NEVER;

    for (unsigned int i = 0; i < 2; i++) {
        const struct direction *d = &w->dir[i];

        if (d->queues > 0)
            next = time_min(next, path_next(d->path));
        if (d->n_old > 0)
            next = 0;
        for (uint16_t q = 0; q < d->queues; q++)
            if (d->kept[q].n > 0)
                next = 0;
    }
    return next;
}

/* ---- control ------------------------------------------------------------------------------ */

static bool old_reap(struct direction *d)
{
    bool room = false;

    for (uint32_t k = 0; k < OLD_PATHS; k++) {
        struct old_path *o = &d->old[k];
        struct path *p = __atomic_load_n(&o->path, __ATOMIC_ACQUIRE);

        if (p != NULL && __atomic_load_n(&o->empty, __ATOMIC_ACQUIRE)) {
            path_destroy(p);
            __atomic_store_n(&o->path, NULL, __ATOMIC_RELEASE);
            p = NULL;
        }
        room = room || p == NULL;
    }
    return room;
}

int cable_set(struct cable *w, unsigned int i, const char *spec, char *err, size_t err_len)
{
    const struct timespec pause = {0, 100000};
    struct direction *d = &w->dir[i];
    struct path *p;

    CHECK(i < 2 && d->queues > 0);
    if (!old_reap(d)) {
        snprintf(err, err_len, "%u former paths still hold packets; wait until they have left",
                 OLD_PATHS);
        return -EBUSY;
    }
    d->wanted_at = rte_rdtsc();
    p = path_new(w, i, spec, d->wanted_at, err, err_len);
    if (p == NULL)
        return -EINVAL;
    __atomic_store_n(&d->wanted, p, __ATOMIC_RELEASE);
    for (uint32_t tries = 0; __atomic_load_n(&d->wanted, __ATOMIC_ACQUIRE) != NULL; tries++) {
        if (tries == 20000) {
            struct path *expected = p;

            if (!__atomic_compare_exchange_n(&d->wanted, &expected, NULL, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
                break;
            path_destroy(p);
            snprintf(err, err_len, "nobody runs the cable");
            return -ETIMEDOUT;
        }
        nanosleep(&pause, NULL);
    }
    d->current = p;
    return 0;
}

const struct path *cable_path(const struct cable *w, unsigned int i)
{
    CHECK(i < 2);
    return w->dir[i].current;
}

bool cable_stuck(const struct cable *w, unsigned int i, uint16_t k)
{
    CHECK(i < 2 && k < w->dir[i].queues);
    return __atomic_load_n(&w->dir[i].kept[k].stuck, __ATOMIC_RELAXED);
}

const struct cable_counts *cable_counts(const struct cable *w, unsigned int i)
{
    CHECK(i < 2);
    return &w->dir[i].counts;
}
