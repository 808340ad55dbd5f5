/* SPDX-License-Identifier: BSD-3-Clause */
/* The tester's ports, pools and roles. tester_run.c runs windows. */
#include "load/tester.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/check.h"
#include "common/clock.h"
#include "common/grace.h"
#include "common/hush.h"
#include "common/say.h"
#include "drivers/device.h"

#define POOL_CACHE    256u
#define LINK_WAIT_NS  30000000000ull
#define LINK_RETRY_NS 1000000000ull
#define LINK_LOOK_NS  10000000l /* between two looks */

/* ---- ports -------------------------------------------------------------------------------- */

static int ports_find(struct tester *t, char *err, size_t err_len)
{
    const struct options *o = t->opt;
    bool second = o->port[1][0] != '\0' || (o->port[0][0] == '\0' && rte_eth_dev_count_avail() > 1);
    int rc = port_find(&t->port[0], o->port[0], 0, err, err_len);

    t->ports = 1;
    if (rc == 0 && second) {
        t->ports = 2;
        rc = port_find(&t->port[1], o->port[1], 1, err, err_len);
    }
    if (rc != 0)
        return rc;
    if (second && t->port[0].id == t->port[1].id) {
        snprintf(err, err_len, "--ports names %s twice; give one port, or two different ones",
                 t->port[0].name);
        return -EINVAL;
    }
    if (o->both && !second) {
        snprintf(err, err_len,
                 "--both needs two ports, and there is one; add another one before "
                 "-- with --vdev or -a, or leave --both out");
        return -EINVAL;
    }
    if (!second)
        t->port[1] = t->port[0];
    t->port[0].queues = t->port[1].queues = (uint16_t)o->queues;
    return 0;
}

static struct rte_mempool *pool_make(struct tester *t, const char *name, char *err, size_t err_len)
{
    uint32_t room = RTE_PKTMBUF_HEADROOM + port_frame_bytes(t->port, t->opt->mtu) + STAMP_HEAD_MAX;
    uint64_t n = t->opt->packets * t->opt->queues * t->ports;
    struct rte_mempool *pool = rte_pktmbuf_pool_create(name, (unsigned int)n, POOL_CACHE, 0,
                                                       (uint16_t)RTE_MIN(room, 65535u),
                                                       rte_eth_dev_socket_id(t->port[0].id));

    if (pool == NULL)
        snprintf(err, err_len,
                 "no memory for %llu packet buffers of %u bytes (%s): about %llu MB; lower "
                 "--packets, or give more with -m MB before --",
                 (unsigned long long)n, room, rte_strerror(rte_errno),
                 (unsigned long long)(n * (room + 192) >> 20) + 1);
    return pool;
}

static void filler_make(struct rte_mempool *pool, void *arg, void *m, unsigned int i)
{
    stream_mbuf_fill(m);
}

static int pools_make(struct tester *t, char *err, size_t err_len)
{
    t->rx_pool = pool_make(t, "load-rx", err, err_len);
    if (t->rx_pool == NULL)
        return -ENOMEM;
    if (t->opt->mode != MODE_SEND)
        return 0;
    t->tx_pool = pool_make(t, "load-tx", err, err_len);
    if (t->tx_pool == NULL)
        return -ENOMEM;
    rte_mempool_obj_iter(t->tx_pool, filler_make, NULL);
    return 0;
}

/* A client of net_memif tries to connect only when its port starts, so it is started again as long
 * as there is no server. */
static void link_retry(const struct port *p)
{
    if (strcmp(p->driver, "net_memif") == 0 && device_stop(p->id) == 0)
        device_start(p->id);
}

static int link_wait(const struct port *p, char *err, size_t err_len)
{
    const struct timespec pause = {0, LINK_LOOK_NS};
    uint64_t start_ns = clock_monotonic_ns(), retry_ns = start_ns + LINK_RETRY_NS, now;

    while (!device_link_up(p->id)) {
        now = clock_monotonic_ns();
        if (now - start_ns >= LINK_WAIT_NS) {
            snprintf(err, err_len,
                     "port %s: its link is down for %llu s; start the device at its other end, or "
                     "check the cable",
                     p->name, LINK_WAIT_NS / CLOCK_NS_PER_S);
            return -ENETDOWN;
        }
        if (now >= retry_ns) {
            link_retry(p);
            retry_ns = now + LINK_RETRY_NS;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Starts a port. Without a server, a client of net_memif does not even start: it waits for one. */
static int port_start_patiently(struct tester *t, struct port *p, char *err, size_t err_len)
{
    const struct timespec pause = {1, 0};
    uint64_t start_ns = clock_monotonic_ns();
    int level = -1, rc;

    while ((rc = port_start(p, t->opt->mtu, t->rx_pool, err, err_len)) != 0 &&
           strcmp(p->driver, "net_memif") == 0 && clock_monotonic_ns() - start_ns < LINK_WAIT_NS) {
        if (level < 0) {
            say_port(SAY_NOTICE, p->name, "no server yet; waiting for one");
            level = hush("pmd.net.memif");
        }
        nanosleep(&pause, NULL);
    }
    unhush("pmd.net.memif", level);
    return rc;
}

static int ports_start(struct tester *t, char *err, size_t err_len)
{
    int rc;

    for (unsigned int i = 0; i < t->ports; i++) {
        rc = port_start_patiently(t, &t->port[i], err, err_len);
        if (rc != 0)
            return rc;
        t->started[i] = true;
    }
    for (unsigned int i = 0; i < t->ports; i++) {
        rc = link_wait(&t->port[i], err, err_len);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- roles -------------------------------------------------------------------------------- */

static void *zeroed(size_t n, size_t bytes)
{
    return rte_zmalloc("load", RTE_MAX(n, (size_t)1) * bytes, RTE_CACHE_LINE_SIZE);
}

static void roles_count(struct tester *t)
{
    unsigned int queues = (unsigned int)t->opt->queues;

    t->directions = t->opt->mode == MODE_SEND ? (t->opt->both ? 2 : 1) : t->ports;
    t->senders = t->opt->mode == MODE_SEND ? t->directions * queues : 0;
    t->receivers = t->opt->mode == MODE_REFLECT ? 0 : t->directions * queues;
    t->reflectors = t->opt->mode == MODE_REFLECT ? t->ports * queues : 0;
}

static void roles_fill(struct tester *t)
{
    unsigned int queues = (unsigned int)t->opt->queues;

    for (unsigned int i = 0; i < t->senders; i++) {
        struct sender *s = &t->sender[i];

        s->window = &t->window;
        s->pool = t->tx_pool;
        s->port = t->port[i / queues].id;
        s->queue = (uint16_t)(i % queues);
        s->stream_id = (uint8_t)i;
    }
    for (unsigned int i = 0; i < t->receivers; i++) {
        struct receiver *r = &t->receiver[i];

        r->window = &t->window;
        /* frames of direction 0 arrive at the second port; a listener listens on each */
        r->port = t->port[t->opt->mode == MODE_SEND ? 1 - i / queues : i / queues].id;
        r->queue = (uint16_t)(i % queues);
        r->collector.listening = t->opt->mode == MODE_LISTEN;
        r->collector.verify = t->opt->verify;
        r->collector.counts = t->opt->count;
    }
    for (unsigned int i = 0; i < t->reflectors; i++)
        t->reflector[i] = (struct reflector){
            .window = &t->window, .port = t->port[i / queues].id, .queue = (uint16_t)(i % queues)};
}

/* Deals the roles to the lcores: to one all, to more first senders, then receivers. */
static void roles_deal(struct tester *t)
{
    unsigned int lcores = rte_lcore_count() - 1, tx, rx;
    struct tester_worker *w = t->worker;

    t->workers = RTE_MIN(RTE_MAX(lcores, 1u), t->senders + t->receivers + t->reflectors);
    tx = t->workers > 1 ? RTE_MIN(RTE_MAX(t->workers / 2, 1u), t->senders) : 0;
    rx = t->workers - tx;
    CHECK(rx > 0);
    for (unsigned int i = 0; i < t->senders; i++) {
        struct tester_worker *of = &w[tx > 0 ? i % tx : 0];

        of->sender[of->senders++] = &t->sender[i];
    }
    for (unsigned int i = 0; i < t->receivers; i++) {
        struct tester_worker *of = &w[tx + i % rx];

        of->receiver[of->receivers++] = &t->receiver[i];
    }
    for (unsigned int i = 0; i < t->reflectors; i++) {
        struct tester_worker *of = &w[i % rx];

        of->reflector[of->reflectors++] = &t->reflector[i];
    }
}

static int roles_make(struct tester *t, char *err, size_t err_len)
{
    roles_count(t);
    t->sender = zeroed(t->senders, sizeof *t->sender);
    t->receiver = zeroed(t->receivers, sizeof *t->receiver);
    t->reflector = zeroed(t->reflectors, sizeof *t->reflector);
    t->tally = zeroed((size_t)t->receivers * STAMP_STREAMS, sizeof *t->tally);
    if (t->sender == NULL || t->receiver == NULL || t->reflector == NULL || t->tally == NULL) {
        snprintf(err, err_len,
                 "no memory for senders and receivers; give more with -m MB before "
                 "--");
        return -ENOMEM;
    }
    roles_fill(t);
    roles_deal(t);
    return 0;
}

/* Waits until no worker can be using memory that is about to be unmapped (common/grace.h). */
static void tester_pass(void *ctx)
{
    const struct timespec pause = {0, 20000};
    const struct tester *t = ctx;

    for (unsigned int i = 0; i < t->workers; i++) {
        const struct tester_worker *w = &t->worker[i];
        uint64_t before = __atomic_load_n(&w->turns, __ATOMIC_SEQ_CST);

        while (__atomic_load_n(&w->running, __ATOMIC_SEQ_CST) &&
               __atomic_load_n(&w->turns, __ATOMIC_SEQ_CST) - before < 2)
            nanosleep(&pause, NULL);
    }
}

int tester_open(struct tester *t, const struct options *opt, char *err, size_t err_len)
{
    int rc;

    t->opt = opt;
    t->window.clock.hz = clock_measure_hz();
    t->window.ns_shift_mul =
        (uint64_t)(((unsigned __int128)CLOCK_NS_PER_S << 32) / t->window.clock.hz);
    /* so that frames of an earlier tester are not taken for ours */
    t->next_window = (uint16_t)(clock_monotonic_ns() / 1000000 % STAMP_WINDOWS);
    rc = ports_find(t, err, err_len);
    if (rc == 0)
        rc = pools_make(t, err, err_len);
    if (rc == 0)
        rc = roles_make(t, err, err_len);
    if (rc != 0)
        return rc;
    grace_set(tester_pass, t);
    return ports_start(t, err, err_len);
}

void tester_close(struct tester *t)
{
    grace_set(NULL, NULL);
    for (unsigned int i = 0; i < t->senders && t->sender != NULL; i++) {
        sender_end(&t->sender[i]);
        rte_free(t->sender[i].flows);
    }
    for (unsigned int i = 0; i < t->ports; i++)
        if (t->started[i])
            port_stop(&t->port[i]);
    rte_free(t->tally_storage);
    rte_free(t->tally);
    rte_free(t->sender);
    rte_free(t->receiver);
    rte_free(t->reflector);
    rte_mempool_free(t->tx_pool);
    rte_mempool_free(t->rx_pool);
}

void tester_stop(struct tester *t)
{
    __atomic_store_n(&t->window.stop, true, __ATOMIC_RELAXED);
}
