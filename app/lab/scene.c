/* SPDX-License-Identifier: BSD-3-Clause */
/* See scene.h. */
#include "lab/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "base/check.h"
#include "base/clock.h"
#include "lab/load.h"
#include "lab/probes.h"
#include "lab/tcp93.h"
#include "lab/ways.h"
#include "sim/node.h"
#include "sim/workstation.h"
#include "sim/world.h"
#include "wire/frame.h"

#define HOSTS_MAX  64u
#define LOADS_MAX  128u
#define PROBES_MAX 4u
#define TCPS_MAX   8u
#define NODES_MAX  32u
#define FRAMES_MAX 4000u
#define BURST      32u
#define PORT_FIRST 20000u /* UDP, of nodes */
#define CLOSE_S    90u    /* until everything must have come back */

struct scene {
    struct text *t;
    struct result *r;
    const struct scene_pools *pools;
    struct world *w;
    uint64_t until_ns, from_ns, sample_ns, control_ns, poll_ns, seed;
    const char *host_section[HOSTS_MAX], *host_name[HOSTS_MAX];
    struct frame_route station[HOSTS_MAX]; /* src: the host's addresses */
    uint32_t n_hosts, n_loads, n_probes, n_tcps, n_nodes;
    struct load load[LOADS_MAX];
    struct probes probes[PROBES_MAX];
    struct tcp93 tcp[TCPS_MAX];
    struct {
        struct node node;
        uint32_t host;
    } at[NODES_MAX];
    struct ways ways;
    bool over;
};

/* ---- models at a host's port: they share its cable, and it its frames with them ---------------
 */

static void node_add(struct scene *s, struct node node, uint32_t host)
{
    CHECK(s->n_nodes < NODES_MAX);
    s->at[s->n_nodes].node = node;
    s->at[s->n_nodes++].host = host;
}

static void frame_to_nodes(struct scene *s, uint32_t host, struct rte_mbuf *m, uint64_t now)
{
    struct frame f;

    if (frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f) != FRAME_UDP)
        return;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node *node = &s->at[i].node;
        struct rte_mbuf *copy;

        if (s->at[i].host != host || node->port != f.dport || node->rx == NULL)
            continue;
        copy = rte_pktmbuf_copy(m, s->pools->wire, 0, UINT32_MAX);
        CHECK(copy != NULL);
        node->rx(node->self, &copy, 1, now);
    }
}

/* The host sees these frames, too, and drops what is none of its. */
static void on_rx(void *ctx, uint32_t i, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    struct scene *s = ctx;

    for (uint16_t k = 0; k < n && !s->over; k++)
        frame_to_nodes(s, i, m[k], now);
}

static uint64_t nodes_turn(struct scene *s, uint32_t host, uint64_t now)
{
    struct rte_mbuf *m[BURST];
    uint64_t wake = TIME_NEVER;
    uint16_t n;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node *node = &s->at[i].node;

        if (s->at[i].host != host)
            continue;
        if (node->next(node->self, now) <= now) {
            do {
                n = node->tx(node->self, m, BURST, now);
                for (uint16_t k = 0; k < n; k++)
                    world_emit(s->w, host, m[k]);
            } while (n == BURST);
        }
        wake = time_min(wake, node->next(node->self, now));
    }
    return wake;
}

/* ---- the hosts' users ------------------------------------------------------------------------ */

static void on_app(void *ctx, uint32_t i, struct host *h, uint64_t now)
{
    struct scene *s = ctx;
    struct host_completion done[64];
    uint64_t wake = TIME_NEVER;
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0 && !s->over)
        for (uint32_t k = 0; k < n; k++)
            load_done(&s->load[done[k].owner / 2 - 1], h, &done[k], now);
    if (s->over)
        return;
    for (uint32_t k = 0; k < s->n_loads; k++)
        if (s->load[k].cfg.from == i)
            wake = time_min(wake, load_turn(&s->load[k], now));
    wake = time_min(wake, nodes_turn(s, i, now));
    if (wake != TIME_NEVER)
        world_wake(s->w, i, wake);
}

/* ---- what is written about it -----------------------------------------------------------------
 */

static void times_read(struct scene *s)
{
    const char *w = text_section(s->t, "world", 0);

    if (w == NULL)
        w = "world";
    s->until_ns = text_time(s->t, w, "until", "10s");
    s->from_ns = text_time(s->t, w, "from", "0");
    s->sample_ns = text_time(s->t, w, "sample", "100ms");
    s->control_ns = text_time(s->t, w, "control", "1ms");
    s->poll_ns = text_time(s->t, w, "poll", "1us");
    if (s->from_ns >= s->until_ns)
        text_wrong(s->t, w, "from", "nothing is observed; choose a time before \"until\"");
    if (s->sample_ns == 0 || s->poll_ns == 0)
        text_wrong(s->t, w, "sample", "sample and poll must be above 0; correct them");
}

/* What stands around the product's host: nothing, or a workstation of 1990, which receives. */
static void machine_read(struct text *t, const char *section, uint16_t mtu, struct world_port *port)
{
    static const char *const words[] = {"none", "sparc1", "sun3", NULL};
    static const struct workstation *const machines[] = {NULL, &workstation_sparc1,
                                                         &workstation_sun3};
    const struct workstation *m = machines[text_choice(t, section, "machine", "none", words)];
    uint32_t user = (uint32_t)text_size(t, section, "machine packet", "1454");

    if (user == 0)
        text_wrong(t, section, "machine packet", "0 bytes; write what of a packet was the user's");
    else if (m != NULL)
        workstation_receives(m, mtu + RTE_ETHER_HDR_LEN, user, port);
}

static void host_read(struct scene *s, const char *section, struct host_config *h,
                      struct world_port *port)
{
    struct text *t = s->t;

    h->mtu = (uint16_t)text_number(t, section, "mtu", "1500", 576, 16384);
    h->capacity_Bps = text_rate(t, section, "capacity", "0");
    h->first_rate_Bps = text_rate(t, section, "first rate", "100mbit");
    h->first_burst_bytes = text_size(t, section, "first burst", "20000");
    h->burst_bytes = text_size(t, section, "burst", "0");
    h->early = (uint32_t)text_number(t, section, "early", "4", 0, 64);
    h->ahead = (uint32_t)text_number(t, section, "ahead", "0", 0, 1024);
    h->repeat_us = (uint32_t)(text_time(t, section, "repeat", "2ms") / 1000);
    h->silence_ms = (uint32_t)(text_time(t, section, "silence", "10s") / 1000000);
    h->contract.pcr_Bps = text_rate(t, section, "pcr", "0");
    h->contract.scr_Bps = text_rate(t, section, "scr", "0");
    h->contract.mbs_bytes = text_size(t, section, "mbs", "0");
    h->contract.cdvt_ns = text_time(t, section, "cdvt", "0");
    port->up = text_word(t, section, "up", "");
    port->down = text_word(t, section, "down", "");
    port->up = *port->up != '\0' ? port->up : NULL;
    port->down = *port->down != '\0' ? port->down : NULL;
    port->ring = (uint32_t)text_number(t, section, "ring", "0", 0, 65536);
    port->service_Bps = text_rate(t, section, "service", "0");
    port->turn_ns = text_time(t, section, "turn", "0");
    machine_read(t, section, h->mtu, port);
}

static void host_make(struct scene *s, uint32_t i)
{
    const char *section = s->host_section[i];
    struct world_port port = {.seed = s->seed * 1000 + i};
    char err[256], name[20];
    struct host_config h = {
        .mac = {{2, 0, 0, 0, 0, (uint8_t)(i + 1)}},
        .prefix_len = {24},
        .vlan = FRAME_VLAN_NONE,
        .udp_port = WIRE_UDP_PORT,
        .workers = 1,
        .seed = s->seed * 1000 + i,
        .conns = LOADS_MAX,
        .depth = 1024,
        .gaps = 1024,
        .head_pool = s->pools->head,
        .attach_pool = s->pools->attach,
        .copy_pool = s->pools->wire,
        .tx_attach = true,
    };

    snprintf(h.name, sizeof h.name, "%.15s", s->host_name[i]);
    snprintf(name, sizeof name, "10.0.0.%u", i + 1);
    CHECK(addr_parse(name, &h.address[0]) == 0);
    host_read(s, section, &h, &port);
    s->station[i] =
        (struct frame_route){.src_mac = h.mac, .src = h.address[0], .vlan = FRAME_VLAN_NONE};
    if (s->t->err[0] == '\0' && world_add(s->w, &h, &port, err, sizeof err) < 0)
        text_wrong(s->t, section,
                   port.down == NULL ? "up"
                   : port.up == NULL ? "down"
                                     : NULL,
                   "%s", err);
}

static struct frame_route route_of(const struct scene *s, uint32_t from, uint32_t to, uint32_t n)
{
    struct frame_route r = s->station[from];

    r.dst_mac = s->station[to].src_mac;
    r.dst = s->station[to].src;
    r.sport = (uint16_t)(PORT_FIRST + 2 * n);
    r.dport = (uint16_t)(PORT_FIRST + 2 * n + 1);
    return r;
}

static void hosts_read(struct scene *s)
{
    const char *section;

    while ((section = text_section(s->t, "host", s->n_hosts)) != NULL && s->n_hosts < HOSTS_MAX) {
        s->host_section[s->n_hosts] = section;
        s->host_name[s->n_hosts++] = text_name(section);
    }
    for (uint32_t i = 0; i < s->n_hosts; i++)
        host_make(s, i);
}

static void loads_read(struct scene *s)
{
    const char *section;

    while ((section = text_section(s->t, "load", s->n_loads)) != NULL) {
        struct load *l = &s->load[s->n_loads++];

        load_read(l, s->t, section, s->host_name, s->n_hosts, s->until_ns);
        l->cfg.service = (uint16_t)s->n_loads;
        l->cfg.peer = s->station[l->cfg.to].src;
        if (s->n_loads == LOADS_MAX)
            return;
    }
    while ((section = text_section(s->t, "owd", s->n_probes)) != NULL && s->n_probes < PROBES_MAX)
        probes_read(&s->probes[s->n_probes++], s->t, section, s->host_name, s->n_hosts,
                    s->until_ns);
    while ((section = text_section(s->t, "tcp93", s->n_tcps)) != NULL && s->n_tcps < TCPS_MAX)
        tcp93_read(&s->tcp[s->n_tcps++], s->t, section, s->host_name, s->n_hosts);
}

/* The models' ends. */
static void nodes_open(struct scene *s)
{
    for (uint32_t i = 0; i < s->n_probes; i++) {
        struct probes *p = &s->probes[i];
        struct frame_route there = route_of(s, p->from, p->to, i);
        struct frame_route back = route_of(s, p->to, p->from, i);

        RTE_SWAP(back.sport, back.dport);
        probes_open(p, &there, &back, WORLD_HZ, s->from_ns, s->pools->wire, s->r);
        node_add(s, probe_node(&p->probe), p->from);
        node_add(s, mirror_node(&p->mirror), p->to);
    }
    for (uint32_t i = 0; i < s->n_tcps; i++) {
        struct tcp93 *c = &s->tcp[i];
        struct frame_route there = route_of(s, c->from, c->to, PROBES_MAX + i);
        struct frame_route back = route_of(s, c->to, c->from, PROBES_MAX + i);

        RTE_SWAP(back.sport, back.dport);
        tcp93_open(c, &there, &back, WORLD_HZ, s->pools->wire, world_now(s->w));
        node_add(s, tahoe_node(&c->tcp), c->from);
        node_add(s, tahoe_receiver_node(&c->receiver), c->to);
    }
}

static void scene_open(struct scene *s)
{
    uint64_t now = world_now(s->w);

    for (uint32_t i = 0; i < s->n_loads; i++)
        load_open(&s->load[i], world_host(s->w, s->load[i].cfg.from),
                  world_host(s->w, s->load[i].cfg.to), now);
    nodes_open(s);
    ways_open(&s->ways, s->w, s->host_name, s->n_hosts);
}

/* ---- running --------------------------------------------------------------------------------- */

static void scene_begin(struct scene *s)
{
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_begin(&s->load[i]);
    for (uint32_t i = 0; i < s->n_tcps; i++)
        tcp93_begin(&s->tcp[i]);
    ways_begin(&s->ways);
}

static void scene_play(struct scene *s)
{
    uint64_t sample_at = s->sample_ns, begin_at = s->from_ns;

    if (begin_at == 0) {
        scene_begin(s);
        begin_at = TIME_NEVER;
    }
    while (sample_at <= s->until_ns) {
        world_run(s->w, time_min(sample_at, begin_at));
        if (begin_at <= sample_at) {
            scene_begin(s);
            begin_at = TIME_NEVER;
        }
        if (world_now(s->w) < sample_at)
            continue;
        for (uint32_t i = 0; i < s->n_loads; i++)
            load_sample(&s->load[i], s->r, sample_at, s->sample_ns);
        for (uint32_t i = 0; i < s->n_tcps; i++)
            tcp93_sample(&s->tcp[i], s->r, sample_at, s->sample_ns);
        ways_sample(&s->ways, s->r, sample_at);
        sample_at += s->sample_ns;
    }
    world_run(s->w, s->until_ns);
}

static void scene_tell(struct scene *s)
{
    result_value(s->r, (double)(s->until_ns - s->from_ns) / 1e9, "s", "observed");
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_tell(&s->load[i], s->r, s->until_ns - s->from_ns);
    for (uint32_t i = 0; i < s->n_probes; i++)
        probes_tell(&s->probes[i], s->r);
    for (uint32_t i = 0; i < s->n_tcps; i++)
        tcp93_tell(&s->tcp[i], s->r, s->until_ns - s->from_ns);
    ways_tell(&s->ways, s->r);
}

/* Everything must come back before hosts may go. */
static void scene_close(struct scene *s)
{
    const struct scene_pools *p = s->pools;

    s->over = true;
    for (uint32_t i = 0; i < s->n_loads; i++) {
        const struct load *l = &s->load[i];

        if (!l->begun || l->ended)
            continue;
        host_close(l->sender, l->own, WIRE_END_ABORT, world_now(s->w));
        host_close(l->receiver, l->peer, WIRE_END_ABORT, world_now(s->w));
    }
    for (uint32_t i = 0; i < CLOSE_S; i++) {
        world_run(s->w, world_now(s->w) + CLOCK_NS_PER_S);
        if (rte_mempool_full(p->head) && rte_mempool_full(p->attach) && rte_mempool_full(p->wire))
            break;
    }
}

void scene_run(struct text *t, uint64_t seed, const struct scene_pools *pools, struct result *r)
{
    struct scene *s = calloc(1, sizeof *s);
    struct world_config cfg = {.frames_max = FRAMES_MAX, .pool = pools->wire, .ctx = s};

    CHECK(s != NULL);
    *s = (struct scene){.t = t, .r = r, .pools = pools, .seed = seed};
    times_read(s);
    cfg.poll_ns = s->poll_ns != 0 ? s->poll_ns : 1;
    cfg.control_ns = s->control_ns;
    cfg.app = on_app;
    cfg.rx = on_rx;
    s->w = world_create(&cfg);
    hosts_read(s);
    loads_read(s);
    if (text_right(t)) {
        scene_open(s);
        scene_play(s);
        scene_tell(s);
        scene_close(s);
    }
    world_destroy(s->w);
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_free(&s->load[i]);
    free(s);
}
