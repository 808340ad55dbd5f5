/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/world.h"

#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#include "base/check.h"
#include "base/clock.h"
#include "sim/bridge.h"
#include "sim/port.h"
#include "sim/schedule.h"
#include "sim/wire.h"

#define WORLD_START 1000u /* time 0 means "never" to some code */
#define NOBODY      WORLD_HOSTS_MAX
#define LATER       (WORLD_HOSTS_MAX + 1) /* flight.to: the frame is in its port until it is due */
#define PARTLY      64u /* a port that refuses takes one frame in so many offers */

/* Events. Those of the same time happen in this order. */
enum {
    EVENT_FLIGHT = 0,
    EVENT_UP = 1,
    EVENT_DOWN = EVENT_UP + WORLD_HOSTS_MAX,
    EVENT_TROUBLE = EVENT_DOWN + WORLD_HOSTS_MAX,
    EVENT_CONTROL = EVENT_TROUBLE + WORLD_HOSTS_MAX * WORLD_TROUBLES,
    EVENT_POLL = EVENT_CONTROL + WORLD_HOSTS_MAX,
    EVENTS = EVENT_POLL + WORLD_HOSTS_MAX
};

struct world {
    struct world_config cfg;
    struct port port[WORLD_HOSTS_MAX];
    struct wire up[WORLD_HOSTS_MAX], down[WORLD_HOSTS_MAX];
    struct bridge bridge;
    uint32_t n;
    uint64_t now;
    struct schedule schedule;
    struct sky sky;
    struct world_counts counts;
};

struct world *world_create(const struct world_config *cfg)
{
    struct world *w = rte_zmalloc("world", sizeof *w, 64);

    CHECK(w != NULL && cfg->poll_ns > 0 && cfg->frames_max > 0);
    w->cfg = *cfg;
    void *storage = rte_zmalloc("schedule", SCHEDULE_BYTES(EVENTS), 64);
    struct flight *flights = rte_zmalloc("flights", cfg->frames_max * sizeof *flights, 64);

    CHECK(storage != NULL && flights != NULL);
    schedule_init(&w->schedule, storage, EVENTS);
    sky_init(&w->sky, flights, cfg->frames_max);
    w->now = WORLD_START;
    return w;
}

void world_destroy(struct world *w)
{
    sky_clear(&w->sky);
    for (uint32_t i = 0; i < w->n; i++) {
        wire_destroy(&w->up[i]);
        wire_destroy(&w->down[i]);
        port_destroy(&w->port[i]);
        host_control_destroy(w->port[i].control);
        host_destroy(w->port[i].host);
    }
    rte_free(w->sky.heap);
    rte_free(w->schedule.at);
    rte_free(w);
}

static void poll_schedule(struct world *w, uint32_t i)
{
    schedule_set(&w->schedule, EVENT_POLL + i, port_next(&w->port[i], w->now));
}

static void trouble_schedule(struct world *w, uint32_t i, enum world_trouble t)
{
    schedule_set(&w->schedule, EVENT_TROUBLE + i * WORLD_TROUBLES + t,
                 w->now + port_trouble_wait(&w->port[i], t));
}

/* Makes the hosts of a port known to each other and to its control. `first` is the first host.
 * False with a message in err. */
static bool control_build(struct world *w, uint32_t first, char *err, size_t err_len)
{
    struct port *p = &w->port[first];
    struct host *hosts[HOST_WORKERS_MAX];

    for (uint32_t q = 0; q < p->queues; q++)
        hosts[q] = w->port[first + q].host;
    host_join(hosts, p->queues);
    if (w->cfg.control_ns == 0)
        return true;
    host_control_destroy(p->control);
    p->control = host_control_create(hosts, p->queues, w->now, err, err_len);
    schedule_set(&w->schedule, EVENT_CONTROL + first, w->now + w->cfg.control_ns);
    return p->control != NULL;
}

static bool wires_build(struct world *w, uint32_t i, const struct world_port *cfg, char *err,
                        size_t err_len)
{
    struct wire_make up = {cfg->up, 2 * cfg->seed, w->cfg.frames_max, w->cfg.pool};
    struct wire_make down = {cfg->down, 2 * cfg->seed + 1, w->cfg.frames_max, w->cfg.pool};

    return wire_create(&w->up[i], &up, w->now, err, err_len) &&
           wire_create(&w->down[i], &down, w->now, err, err_len);
}

/* Adds a host on the next queue of the port that begins with host `first`. Returns its number, or
 * -1. */
static int host_build(struct world *w, struct host_config *cfg, uint32_t first, char *err,
                      size_t err_len)
{
    uint32_t i = w->n;
    struct port *p = &w->port[i];

    CHECK(i < WORLD_HOSTS_MAX);
    cfg->hz = WORLD_HZ;
    cfg->control_ns = w->cfg.control_ns;
    cfg->rx_frames = p->cfg.ring;
    p->first = first;
    p->user_at = TIME_NEVER;
    rng_init(&p->rng, p->cfg.seed + (i - first));
    p->host = host_create(cfg, w->now, err, err_len);
    if (p->host == NULL)
        return -1;
    w->n++;
    w->port[first].queues++;
    if (!port_create(p) || !control_build(w, first, err, err_len))
        return -1;
    for (int t = 0; t < WORLD_TROUBLES; t++)
        if (p->cfg.spell[t].gap_ns != 0)
            trouble_schedule(w, i, (enum world_trouble)t);
    return (int)i;
}

int world_add(struct world *w, struct host_config *cfg, const struct world_port *port, char *err,
              size_t err_len)
{
    static const struct world_port plain = {.burst = PORT_BURST};
    struct port *p = &w->port[w->n];
    int i;

    CHECK(w->n < WORLD_HOSTS_MAX);
    p->cfg = port != NULL ? *port : plain;
    p->cfg.poll_ns = p->cfg.poll_ns != 0 ? p->cfg.poll_ns : w->cfg.poll_ns;
    p->cfg.burst = p->cfg.burst != 0 && p->cfg.burst < PORT_BURST ? p->cfg.burst : PORT_BURST;
    i = host_build(w, cfg, w->n, err, err_len);
    if (i < 0 || !wires_build(w, (uint32_t)i, &p->cfg, err, err_len))
        return -1;
    bridge_add(&w->bridge, &cfg->mac, (uint32_t)i);
    return i;
}

int world_add_worker(struct world *w, struct host_config *cfg, char *err, size_t err_len)
{
    CHECK(w->n > 0 && w->n < WORLD_HOSTS_MAX);
    uint32_t first = w->port[w->n - 1].first;

    CHECK(cfg->worker == w->n - first && cfg->worker < cfg->workers);
    w->port[w->n].cfg = w->port[first].cfg;
    return host_build(w, cfg, first, err, err_len);
}

/* The keys of the port whose first host is i. */
static void port_keys(uint64_t seed, uint32_t i, struct assoc_config *cfg)
{
    uint8_t bytes[DRBG_SEED_BYTES] = {0};
    struct drbg random;

    memcpy(bytes, &seed, sizeof seed);
    memcpy(bytes + sizeof seed, &i, sizeof i);
    drbg_init(&random, bytes);
    drbg_bytes(&random, cfg->self.private_key, sizeof cfg->self.private_key);
    drbg_bytes(&random, cfg->seed, sizeof cfg->seed);
    dh_public(cfg->self.private_key, cfg->self.public_key);
}

static const struct assoc_rights everything;

static struct assoc_peer port_peer(const struct world *w, uint64_t seed, uint32_t i)
{
    const struct host_config *cfg = host_get_config(w->port[i].host);
    struct assoc_peer peer = {.address = {cfg->address[0], cfg->address[1]}};
    struct assoc_config keys;

    port_keys(seed, i, &keys);
    memcpy(peer.public_key, keys.self.public_key, sizeof peer.public_key);
    for (uint32_t k = 0; k < 2; k++)
        if (!addr_is_unset(&cfg->address[k]))
            peer.prefix_len[k] = addr_is_v4(&cfg->address[k]) ? 32 : 128;
    return peer;
}

/* Makes the keys of all other ports known to the port whose first host is i. rights: theirs. */
static void port_introduce(struct world *w, uint32_t i, uint64_t seed,
                           const struct assoc_rights *rights)
{
    struct assoc_peer peers[WORLD_HOSTS_MAX];
    struct rte_mbuf *none[1];
    uint32_t n = 0;

    for (uint32_t k = 0; k < w->n; k += w->port[k].queues)
        if (k != i && host_get_config(w->port[k].host)->security != HOST_SECURITY_NONE)
            peers[n++] = port_peer(w, seed, k);
    for (uint32_t k = 0; k < n; k++)
        peers[k].rights = *rights;
    CHECK(host_control_set_secured(w->port[i].control, peers, n) == 0);
    for (uint32_t q = 0; q < w->port[i].queues; q++) /* the hosts know it before they connect */
        CHECK(host_tx(w->port[i + q].host, none, 0, w->now) == 0);
}

void world_secure(struct world *w, uint64_t seed, enum aead_cipher cipher)
{
    for (uint32_t i = 0; i < w->n; i += w->port[i].queues) {
        const struct host_config *host = host_get_config(w->port[i].host);
        struct assoc_config cfg = {
            .ciphers = 1u << cipher,
            .cipher = cipher,
            .peers_max = host->secured_max,
        };
        char err[128];

        if (host->security == HOST_SECURITY_NONE)
            continue;
        port_keys(seed, i, &cfg);
        CHECK(host_control_secure(w->port[i].control, &cfg, aead_best(), err, sizeof err) == 0);
        port_introduce(w, i, seed, &everything);
    }
}

void world_public_key(const struct world *w, uint32_t i, uint64_t seed, uint8_t key[DH_BYTES])
{
    struct assoc_config keys;

    CHECK(i < w->n);
    port_keys(seed, i, &keys);
    memcpy(key, keys.self.public_key, DH_BYTES);
}

void world_forget(struct world *w, uint32_t i, uint64_t seed)
{
    CHECK(host_control_set_secured(w->port[i].control, NULL, 0) == 0);
    port_introduce(w, i, seed, &everything);
}

void world_permit(struct world *w, uint32_t i, uint64_t seed, const struct assoc_rights *rights)
{
    port_introduce(w, i, seed, rights);
}

struct host *world_host(struct world *w, uint32_t i)
{
    CHECK(i < w->n);
    return w->port[i].host;
}

struct host_control *world_control(struct world *w, uint32_t i)
{
    CHECK(i < w->n);
    return w->port[w->port[i].first].control;
}

const struct host_port_counters *world_port_counters(const struct world *w, uint32_t i)
{
    CHECK(i < w->n);
    return &w->port[i].seen;
}

const struct path *world_path(const struct world *w, uint32_t i, bool up)
{
    CHECK(i < w->n);
    return up ? w->up[i].path : w->down[i].path;
}

void world_service(struct world *w, uint32_t i, uint64_t service_Bps)
{
    CHECK(i < w->n);
    w->port[i].cfg.service_Bps = service_Bps;
}

uint64_t world_now(const struct world *w)
{
    return w->now;
}

const struct world_counts *world_counts(const struct world *w)
{
    return &w->counts;
}

void world_wake(struct world *w, uint32_t i, uint64_t when)
{
    CHECK(i < w->n);
    w->port[i].user_at = time_min(w->port[i].user_at, when);
    poll_schedule(w, i);
}

/* ---- the way of a frame -----------------------------------------------------------------------
 */

static void fly(struct world *w, struct flight f)
{
    if (!sky_push(&w->sky, f)) {
        w->counts.overflowed++;
        rte_pktmbuf_free(f.m);
    }
    schedule_set(&w->schedule, EVENT_FLIGHT, sky_next(&w->sky));
}

/* Sends a frame on the plain link of host `from`: serialised until `leaves`, then under way. */
static void link_send(struct world *w, uint32_t from, struct rte_mbuf *m,
                      const struct world_fate *fate, uint64_t leaves)
{
    for (uint32_t k = 0; k < fate->copies; k++) {
        bool last = k + 1 == fate->copies;
        struct rte_mbuf *copy = last ? m : rte_pktmbuf_copy(m, w->cfg.pool, 0, UINT32_MAX);

        if (copy == NULL) {
            w->counts.overflowed++;
            continue;
        }
        fly(w, (struct flight){.at = leaves + w->cfg.delay_ns + fate->extra_ns[k],
                               .m = copy,
                               .from = from,
                               .to = NOBODY});
    }
    if (fate->copies == 0)
        rte_pktmbuf_free(m);
}

static void path_send(struct world *w, uint32_t from, struct rte_mbuf *m,
                      const struct world_fate *fate)
{
    for (uint32_t k = 1; k < fate->copies; k++)
        wire_push(&w->up[from], rte_pktmbuf_copy(m, w->cfg.pool, 0, UINT32_MAX), w->now);
    if (fate->copies > 0)
        wire_push(&w->up[from], m, w->now);
    else
        rte_pktmbuf_free(m);
    schedule_set(&w->schedule, EVENT_UP + from, wire_next(&w->up[from], w->now));
}

/* A frame leaves host `from`: copies it, decides its fate, and sends it on its link or path. */
static void frame_send(struct world *w, uint32_t from, struct rte_mbuf *sent)
{
    struct world_fate fate = {1, {0, 0}};
    struct rte_mbuf *m = rte_pktmbuf_copy(sent, w->cfg.pool, 0, UINT32_MAX);
    uint64_t leaves = w->now;

    from = w->port[from].first;
    struct port *p = &w->port[from];

    rte_mbuf_sanity_check(sent, 1); /* a device would send what lies behind a buffer, too */
    rte_pktmbuf_free(sent);
    w->counts.sent++;
    if (m == NULL) {
        w->counts.overflowed++;
        return;
    }
    if (w->cfg.rate_Bps != 0 && !wire_is_path(&w->up[from])) {
        uint64_t start = p->link_free > w->now ? p->link_free : w->now;

        if (w->cfg.queue_ns != 0 && start - w->now > w->cfg.queue_ns) {
            w->counts.overflowed++;
            rte_pktmbuf_free(m);
            return;
        }
        leaves = start + m->pkt_len * WORLD_HZ / w->cfg.rate_Bps;
        p->link_free = leaves;
    }
    if (w->cfg.fate != NULL)
        w->cfg.fate(w->cfg.ctx, from, m, w->now, &fate);
    CHECK(fate.copies <= 2);
    if (p->trouble[WORLD_CUT]) {
        w->counts.cut += fate.copies > 0;
        rte_pktmbuf_free(m);
    } else if (wire_is_path(&w->up[from])) {
        path_send(w, from, m, &fate);
    } else {
        link_send(w, from, m, &fate, leaves);
    }
}

/* A frame arrives at the port whose first host is i. */
static void frame_arrive(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    const struct port *p = &w->port[i];

    w->counts.delivered++;
    if (p->trouble[WORLD_CUT]) {
        w->counts.cut++;
        rte_pktmbuf_free(m);
        return;
    }
    if (p->cfg.rss != NULL && p->queues > 1)
        i += rss_queue(p->cfg.rss, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len) % p->queues;
    if (port_receive(&w->port[i], m, w->now))
        poll_schedule(w, i);
}

/* A frame goes from the switch towards the port of host i. */
static void frame_down(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    if (!wire_is_path(&w->down[i])) {
        frame_arrive(w, i, m);
        return;
    }
    wire_push(&w->down[i], m, w->now);
    schedule_set(&w->schedule, EVENT_DOWN + i, wire_next(&w->down[i], w->now));
}

/* The switch forwards a frame to its addressee, or a multicast to all but the sender. */
static void frame_forward(struct world *w, uint32_t from, struct rte_mbuf *m)
{
    const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
    uint32_t to = bridge_find(&w->bridge, &eth->dst_addr);

    if (rte_is_multicast_ether_addr(&eth->dst_addr)) {
        for (uint32_t i = 0; i < w->n; i++) {
            struct rte_mbuf *copy = i == from || w->port[i].first != i
                                        ? NULL
                                        : rte_pktmbuf_copy(m, w->cfg.pool, 0, UINT32_MAX);

            if (copy != NULL)
                frame_down(w, i, copy);
        }
        rte_pktmbuf_free(m);
    } else if (to != NOBODY) {
        frame_down(w, to, m);
    } else {
        rte_pktmbuf_free(m);
    }
}

/* ---- events -----------------------------------------------------------------------------------
 */

static void flights_land(struct world *w)
{
    while (sky_next(&w->sky) <= w->now) {
        struct flight f = sky_pop(&w->sky);

        if (f.to == LATER)
            frame_send(w, f.from, f.m);
        else if (f.to != NOBODY)
            frame_arrive(w, f.to, f.m);
        else
            frame_forward(w, f.from, f.m);
    }
    schedule_set(&w->schedule, EVENT_FLIGHT, sky_next(&w->sky));
}

static void wire_run(struct world *w, uint32_t i, bool up)
{
    struct wire *l = up ? &w->up[i] : &w->down[i];
    struct rte_mbuf *m;

    while ((m = wire_pop(l, w->now)) != NULL) {
        if (up)
            frame_forward(w, i, m);
        else
            frame_arrive(w, i, m);
    }
    schedule_set(&w->schedule, (up ? EVENT_UP : EVENT_DOWN) + i, wire_next(l, w->now));
}

/* Runs the control of the port that begins with host i. */
static void control_run(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];
    struct host_port_counters seen = {.time = p->cfg.service_Bps != 0 ? w->now : 0};

    for (uint32_t q = 0; q < p->queues; q++) {
        struct host_port_counters *one = &w->port[i + q].seen;

        one->time = seen.time;
        seen.imissed += one->imissed;
        seen.rx_nombuf += one->rx_nombuf;
        seen.worker[q] = one->worker[0];
    }
    host_control_set_wall(p->control, w->now);
    if (!p->trouble[WORLD_CONTROL_STALL])
        host_control(p->control, &seen, w->now);
    schedule_set(&w->schedule, EVENT_CONTROL + i, w->now + w->cfg.control_ns);
    for (uint32_t q = 0; q < p->queues; q++)
        poll_schedule(w, i + q);
}

/* The port takes a frame and sends it: at the time that the frame carries, if any, else now. */
static void port_send(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    const struct host_config *cfg = host_get_config(w->port[i].host);
    uint64_t at = w->now;

    if ((m->ol_flags & cfg->tx_time_flag) != 0)
        at = *RTE_MBUF_DYNFIELD(m, cfg->tx_time_offset, uint64_t *);
    if (at > w->now)
        fly(w, (struct flight){.at = at, .m = m, .from = i, .to = LATER});
    else
        frame_send(w, i, m);
}

/* Offers the kept frames to the port. */
static void kept_offer(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];
    uint16_t take = p->kept_n;

    p->caught = false;
    if (p->trouble[WORLD_TX_REFUSED]) {
        take = rng_below(&p->rng, PARTLY) == 0 ? 1 : 0;
        w->counts.refused++;
    }
    for (uint16_t k = 0; k < take; k++)
        port_send(w, i, p->kept[p->kept_first + k]);
    p->kept_n = (uint16_t)(p->kept_n - take);
    p->kept_first = p->kept_n > 0 ? (uint16_t)(p->kept_first + take) : 0;
    if (take > 0)
        p->kept_since = w->now;
    if (p->kept_n == 0 || w->now - p->kept_since < p->cfg.keep_ns)
        return;
    w->counts.given_up += p->kept_n;
    rte_pktmbuf_free_bulk(p->kept + p->kept_first, p->kept_n);
    p->kept_first = p->kept_n = 0;
}

static void host_transmit(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];

    if (p->kept_n > 0) {
        if (!p->caught)
            host_stamp(p->host, p->kept + p->kept_first, p->kept_n, w->now);
        kept_offer(w, i);
        if (p->kept_n > 0) {
            host_tx(p->host, p->kept, 0, w->now);
            return;
        }
    }
    p->kept_n = host_tx(p->host, p->kept, p->cfg.burst, w->now);
    for (uint16_t k = 0; k < p->kept_n; k++)
        p->work_bytes += p->kept[k]->pkt_len;
    p->kept_since = w->now;
    if (p->kept_n == 0)
        return;
    if (w->cfg.made != NULL)
        w->cfg.made(w->cfg.ctx, i, p->kept, p->kept_n, w->now);
    if (!p->caught)
        kept_offer(w, i);
}

/* Hands a copy of the frame to another worker of the port, or to all others. */
static void foreign_put(struct world *w, uint32_t i, struct rte_mbuf *m, uint8_t worker)
{
    uint32_t first = w->port[i].first;

    for (uint32_t q = 0; q < w->port[first].queues; q++) {
        bool all = worker == HOST_WORKER_ALL && first + q != i;
        struct rte_mbuf *copy =
            all || q == worker ? rte_pktmbuf_copy(m, w->cfg.pool, 0, UINT32_MAX) : NULL;

        if (copy == NULL)
            continue;
        port_give(&w->port[first + q], copy);
        poll_schedule(w, first + q);
    }
    rte_pktmbuf_free(m);
}

/* Exchanges frames between host i and the other workers of its port. */
static void foreign_exchange(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];
    struct rte_mbuf *m[PORT_BURST];
    uint8_t worker[PORT_BURST];
    uint16_t n;

    if (w->port[p->first].queues == 1)
        return;
    n = port_take_given(p, m, PORT_BURST);
    if (n > 0)
        host_rx_given(p->host, m, n, w->now);
    while ((n = host_foreign(p->host, m, worker, PORT_BURST)) > 0)
        for (uint16_t k = 0; k < n; k++)
            foreign_put(w, i, m[k], worker[k]);
}

/* Frames that host i has dropped so far because they exceeded a grant. */
static uint64_t dropped_count(const struct world *w, uint32_t i)
{
    return host_counter_named(w->port[i].host, "drop_over_grant");
}

/* The host takes n frames. Those that it drops unread take less work than the others. */
static void host_receive(struct world *w, uint32_t i, struct rte_mbuf **m, uint16_t n)
{
    struct port *p = &w->port[i];
    uint64_t mean_bytes = p->work_bytes / n, before = 0;

    if (p->cfg.drop_bytes != 0)
        before = dropped_count(w, i);
    if (w->cfg.rx != NULL)
        w->cfg.rx(w->cfg.ctx, i, m, n, w->now);
    host_rx(p->host, m, n, w->now);
    if (w->cfg.rx != NULL)
        w->cfg.rx(w->cfg.ctx, i, NULL, 0, w->now);
    if (mean_bytes > p->cfg.drop_bytes && p->cfg.drop_bytes != 0)
        p->work_bytes -= (dropped_count(w, i) - before) * (mean_bytes - p->cfg.drop_bytes);
}

static void host_poll(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];
    struct rte_mbuf *m[PORT_BURST];
    uint16_t n = port_take(p, m, p->cfg.burst);

    w->counts.polls++;
    port_polled(p, w->now);
    host_looked(p->host, p->looked_at);
    if (n < p->cfg.burst)
        p->looked_at = w->now;
    if (n > 0)
        host_receive(w, i, m, n);
    foreign_exchange(w, i);
    host_transmit(w, i);
    port_worked(p, n, w->now);
    w->counts.napped_ns += port_nap(p, w->now);
    if (w->cfg.app != NULL)
        w->cfg.app(w->cfg.ctx, i, p->host, w->now);
    poll_schedule(w, i);
}

/* A stall begins or ends. It may stop a loop that has made frames and not yet offered them to its
 * port. */
static void stall_turn(struct world *w, uint32_t i)
{
    struct port *p = &w->port[i];

    if (p->trouble[WORLD_STALL]) {
        w->counts.stalled_ns += w->now - p->stalled_at;
        return;
    }
    p->caught = p->cfg.caught && p->kept_n == 0 && p->free_at <= w->now;
    if (p->caught)
        host_poll(w, i);
    p->stalled_at = w->now;
}

static void trouble_turn(struct world *w, uint32_t i, enum world_trouble t)
{
    struct port *p = &w->port[i];

    if (t == WORLD_STALL)
        stall_turn(w, i);
    port_trouble(p, t, !p->trouble[t]);
    w->counts.spells[t] += p->trouble[t];
    trouble_schedule(w, i, t);
    poll_schedule(w, i);
}

static void event_run(struct world *w, uint32_t e)
{
    if (e == EVENT_FLIGHT)
        flights_land(w);
    else if (e < EVENT_DOWN)
        wire_run(w, e - EVENT_UP, true);
    else if (e < EVENT_TROUBLE)
        wire_run(w, e - EVENT_DOWN, false);
    else if (e < EVENT_CONTROL)
        trouble_turn(w, (e - EVENT_TROUBLE) / WORLD_TROUBLES,
                     (enum world_trouble)((e - EVENT_TROUBLE) % WORLD_TROUBLES));
    else if (e < EVENT_POLL)
        control_run(w, e - EVENT_CONTROL);
    else
        host_poll(w, e - EVENT_POLL);
}

bool world_run(struct world *w, uint64_t until)
{
    if (w->now >= until)
        return true;
    for (uint32_t i = 0; i < w->n; i++)
        world_wake(w, i, w->now);
    for (;;) {
        uint64_t next = schedule_next(&w->schedule);

        if (next > until) {
            w->now = until;
            return next != TIME_NEVER;
        }
        w->now = next > w->now ? next : w->now;
        event_run(w, schedule_first(&w->schedule));
    }
}

void world_calm(struct world *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        for (int t = 0; t < WORLD_TROUBLES; t++) {
            if (w->port[i].trouble[t])
                port_trouble(&w->port[i], (enum world_trouble)t, false);
            schedule_set(&w->schedule, EVENT_TROUBLE + i * WORLD_TROUBLES + (uint32_t)t,
                         TIME_NEVER);
        }
        wire_destroy(&w->up[i]);
        wire_destroy(&w->down[i]);
        schedule_set(&w->schedule, EVENT_UP + i, TIME_NEVER);
        schedule_set(&w->schedule, EVENT_DOWN + i, TIME_NEVER);
        poll_schedule(w, i);
    }
}

void world_emit(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    CHECK(i < w->n);
    frame_send(w, i, m);
}

void world_inject(struct world *w, uint32_t i, struct rte_mbuf *m)
{
    fly(w, (struct flight){.at = w->now, .m = m, .from = NOBODY, .to = i});
}
