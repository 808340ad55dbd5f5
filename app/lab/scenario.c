/* SPDX-License-Identifier: BSD-3-Clause */
/* See scenario.h. */
#include "lab/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "base/check.h"
#include "base/clock.h"
#include "lab/load.h"
#include "lab/paths.h"
#include "lab/probes.h"
#include "lab/tcp93.h"
#include "sim/nodes.h"
#include "sim/segment.h"
#include "sim/wire.h"
#include "sim/workstation.h"
#include "sim/world.h"
#include "wire/limits.h"

#define HOSTS_MAX      WORLD_HOSTS_MAX
#define LOADS_MAX      1024u
#define PROBES_MAX     4u
#define TCPS_MAX       8u
#define NAME_MAX_BYTES 64u    /* so that names of measures are whole (result.c) */
#define PORT_FIRST     20000u /* first UDP port of nodes */
#define CLOSE_S        90u    /* seconds of virtual time in which all buffers must come back */

struct scenario {
    struct text *t;
    struct result *r;
    struct scenario_pools *pools;
    struct world *w;
    uint64_t until_ns, from_ns, sample_ns, control_ns, poll_ns, seed;
    const char *host_section[HOSTS_MAX], *host_name[HOSTS_MAX];
    struct frame_route station[HOSTS_MAX]; /* src_mac and src: the host's addresses */
    uint32_t conns[HOSTS_MAX], depth[HOSTS_MAX], frames, frame_bytes;
    uint32_t n_hosts, n_loads, n_probes, n_tcps;
    struct load load[LOADS_MAX];
    struct probes probes[PROBES_MAX];
    struct tcp93 tcp[TCPS_MAX];
    struct nodes nodes; /* a node's place is the number of its host */
    struct paths paths;
    bool over;
    uint64_t no_mbuf; /* frames that models did not get for want of buffers */
};

/* ---- models (nodes), which share a host's port ----------------------------------------------- */

/* Gives copies to the nodes of host i. The host gets all these frames, too, and drops those that
 * are not its own. */
static void on_rx(void *ctx, uint32_t i, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    struct scenario *s = ctx;

    for (uint16_t k = 0; k < n && !s->over; k++) {
        const struct node *node = nodes_find(&s->nodes, i, m[k]);
        struct rte_mbuf *copy =
            node != NULL ? rte_pktmbuf_copy(m[k], s->pools->wire, 0, UINT32_MAX) : NULL;

        s->no_mbuf += node != NULL && copy == NULL;
        if (copy != NULL)
            node->rx(node->self, &copy, 1, now);
    }
}

static void on_out(void *ctx, uint32_t i, struct rte_mbuf **m, uint16_t n)
{
    struct scenario *s = ctx;

    for (uint16_t k = 0; k < n; k++)
        world_emit(s->w, i, m[k]);
}

/* ---- the hosts' users ------------------------------------------------------------------------ */

static void on_app(void *ctx, uint32_t i, struct host *h, uint64_t now)
{
    struct scenario *s = ctx;
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
    nodes_send(&s->nodes, i, now, on_out, s);
    wake = time_min(wake, nodes_next(&s->nodes, i, now));
    if (wake != TIME_NEVER)
        world_wake(s->w, i, wake);
}

/* ---- reading the world's text ---------------------------------------------------------------- */

static void times_read(struct scenario *s)
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

/* Reads which machine the host models: none in particular, or a workstation of 1990 that
 * receives. */
static void machine_read(struct text *t, const char *section, uint16_t mtu, struct world_port *port)
{
    static const char *const words[] = {"none", "sparc1", "sun3", NULL};
    static const struct workstation *const machines[] = {NULL, &workstation_sparc1,
                                                         &workstation_sun3};
    const struct workstation *m = machines[text_choice(t, section, "machine", "none", words)];
    uint64_t user = text_size(t, section, "machine packet", "1454");
    uint32_t frame_bytes = (uint32_t)mtu + RTE_ETHER_HDR_LEN;

    if (user == 0)
        text_wrong(t, section, "machine packet",
                   "0 bytes; write the bytes of user data in a packet");
    else if (m != NULL && user > frame_bytes)
        text_wrong(t, section, "machine packet",
                   "%llu bytes of user data do not fit into a frame of %u; lower it, or raise mtu",
                   (unsigned long long)user, frame_bytes);
    else if (m != NULL)
        workstation_receives(m, frame_bytes, (uint32_t)user, port);
}

static void host_read(struct scenario *s, const char *section, struct host_config *h,
                      struct world_port *port)
{
    struct text *t = s->t;

    h->mtu = (uint16_t)text_number(t, section, "mtu", "1500", WIRE_MTU_MIN, WIRE_MTU_MAX);
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

static struct host_config host_config_of(struct scenario *s, uint32_t i, struct world_port *port)
{
    struct host_config h = {
        .mac = s->station[i].src_mac,
        .address = {s->station[i].src},
        .prefix_len = {16},
        .vlan = FRAME_VLAN_NONE,
        .udp_port = WIRE_UDP_PORT,
        .workers = 1,
        .secrets = world_secrets(s->seed * 1000 + i, 0),
        .conns = s->conns[i],
        .depth = rte_align32pow2(s->depth[i]),
        .gaps = 1024,
        .head_pool = s->pools->head,
        .attach_pool = s->pools->attach,
        .copy_pool = s->pools->wire,
        .tx_attach = true,
    };

    snprintf(h.name, sizeof h.name, "%.15s", s->host_name[i]);
    host_read(s, s->host_section[i], &h, port);
    return h;
}

static void host_make(struct scenario *s, uint32_t i)
{
    const char *section = s->host_section[i];
    struct world_port port = {.seed = s->seed * 1000 + i};
    struct host_config h = host_config_of(s, i, &port);
    char err[256];

    if (s->t->err[0] == '\0' && world_add(s->w, &h, &port, err, sizeof err) < 0)
        text_wrong(s->t, section,
                   port.down == NULL ? "up"
                   : port.up == NULL ? "down"
                                     : NULL,
                   "%s", err);
}

static struct frame_route route_of(const struct scenario *s, uint32_t from, uint32_t to, uint32_t n)
{
    struct frame_route r = s->station[from];

    r.dst_mac = s->station[to].src_mac;
    r.dst = s->station[to].src;
    r.sport = (uint16_t)(PORT_FIRST + 2 * n);
    r.dport = (uint16_t)(PORT_FIRST + 2 * n + 1);
    return r;
}

/* Section n of a kind, which must have a name. NULL: there is no such section, or more than
 * `max`. */
static const char *section_next(struct scenario *s, const char *kind, uint32_t n, uint32_t max)
{
    const char *section = text_section(s->t, kind, n);

    if (section == NULL)
        return NULL;
    if (*text_name(section) == '\0')
        text_wrong(s->t, section, NULL, "it has no name; write [%s NAME]", kind);
    if (strlen(text_name(section)) > NAME_MAX_BYTES)
        text_wrong(s->t, section, NULL, "its name is above %u bytes; shorten it", NAME_MAX_BYTES);
    if (n == max)
        text_wrong(s->t, section, NULL,
                   "at most %u sections of this kind are possible; remove it, or make two "
                   "experiments",
                   max);
    return n < max ? section : NULL;
}

static void workstation_params_set(struct scenario *s, uint32_t i)
{
    struct frame_route *r = &s->station[i];
    uint32_t n = i + 1;
    char address[20];

    *r = (struct frame_route){.src_mac = {{2, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n}},
                              .vlan = FRAME_VLAN_NONE};
    snprintf(address, sizeof address, "10.0.%u.%u", n >> 8, n & 0xff);
    CHECK(addr_parse(address, &r->src) == 0);
}

static void hosts_read(struct scenario *s)
{
    const char *section;

    while ((section = section_next(s, "host", s->n_hosts, HOSTS_MAX)) != NULL) {
        s->host_section[s->n_hosts] = section;
        s->host_name[s->n_hosts] = text_name(section);
        workstation_params_set(s, s->n_hosts++);
    }
}

/* Checks that names are unique across kinds: measures are named by them. */
static void names_check(struct scenario *s)
{
    static const char *const kinds[] = {"load", "owd", "tcp93"};
    const char *seen[LOADS_MAX + PROBES_MAX + TCPS_MAX], *section;
    uint32_t n = 0;

    for (uint32_t k = 0; k < RTE_DIM(kinds); k++)
        for (uint32_t i = 0;
             n < RTE_DIM(seen) && (section = text_section(s->t, kinds[k], i)) != NULL; i++) {
            for (uint32_t j = 0; j < n; j++)
                if (strcmp(text_name(seen[j]), text_name(section)) == 0)
                    text_wrong(
                        s->t, section, NULL,
                        "[%s] has this name, too; choose another, because measures carry this name",
                        seen[j]);
            seen[n++] = section;
        }
}

/* A host has a connection for each load that begins or ends there, and room for its requests. */
static void load_place(struct scenario *s, uint32_t i, const struct load_config *c)
{
    s->conns[i]++;
    s->depth[i] = RTE_MAX(s->depth[i], RTE_MAX(c->depth, c->posted));
}

static void loads_read(struct scenario *s)
{
    for (uint32_t i = 0; i < s->n_hosts; i++)
        s->depth[i] = 1;
    const char *section;

    while ((section = section_next(s, "load", s->n_loads, LOADS_MAX)) != NULL) {
        struct load *l = &s->load[s->n_loads++];

        load_read(l, s->t, section, s->host_name, s->n_hosts, s->until_ns);
        l->cfg.service = (uint16_t)s->n_loads;
        l->cfg.peer = s->station[l->cfg.to].src;
        load_place(s, l->cfg.from, &l->cfg);
        load_place(s, l->cfg.to, &l->cfg);
    }
    while ((section = section_next(s, "owd", s->n_probes, PROBES_MAX)) != NULL)
        probes_read(&s->probes[s->n_probes++], s->t, section, s->host_name, s->n_hosts,
                    s->until_ns);
    while ((section = section_next(s, "tcp93", s->n_tcps, TCPS_MAX)) != NULL)
        tcp93_read(&s->tcp[s->n_tcps++], s->t, section, s->host_name, s->n_hosts);
    names_check(s);
}

/* Opens the models and adds both of their ends as nodes. */
static void nodes_open(struct scenario *s)
{
    for (uint32_t i = 0; i < s->n_probes; i++) {
        struct probes *p = &s->probes[i];
        struct frame_route there = route_of(s, p->from, p->to, i);
        struct frame_route back = route_of(s, p->to, p->from, i);

        RTE_SWAP(back.sport, back.dport);
        if (!probes_open(p, &there, &back, WORLD_HZ, s->from_ns, s->pools->wire, s->r))
            text_wrong(s->t, text_section(s->t, "owd", i), "every",
                       "no memory for a bit of each probe; lengthen it");
        nodes_add(&s->nodes, p->from, probe_node(&p->probe));
        nodes_add(&s->nodes, p->to, mirror_node(&p->mirror));
    }
    for (uint32_t i = 0; i < s->n_tcps; i++) {
        struct tcp93 *c = &s->tcp[i];
        struct frame_route there = route_of(s, c->from, c->to, PROBES_MAX + i);
        struct frame_route back = route_of(s, c->to, c->from, PROBES_MAX + i);

        RTE_SWAP(back.sport, back.dport);
        tcp93_open(c, &there, &back, WORLD_HZ, s->pools->wire, world_now(s->w));
        nodes_add(&s->nodes, c->from, tahoe_node(&c->tcp));
        nodes_add(&s->nodes, c->to, tahoe_receiver_node(&c->receiver));
    }
}

static void scenario_open(struct scenario *s)
{
    for (uint32_t i = 0; i < s->n_loads; i++) {
        const struct load_config *c = &s->load[i].cfg;

        if (!load_open(&s->load[i], world_host(s->w, c->from), world_host(s->w, c->to)))
            text_wrong(s->t, text_section(s->t, "load", i), "request",
                       "no memory for a request; make it smaller, or free some memory");
    }
    nodes_open(s);
    paths_open(&s->paths, s->w, s->host_name, s->n_hosts);
}

/* ---- running --------------------------------------------------------------------------------- */

static void scenario_begin(struct scenario *s)
{
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_begin(&s->load[i]);
    for (uint32_t i = 0; i < s->n_tcps; i++)
        tcp93_begin(&s->tcp[i]);
    paths_begin(&s->paths);
}

static void scenario_play(struct scenario *s)
{
    uint64_t sample_at = s->sample_ns, begin_at = s->from_ns;

    if (begin_at == 0) {
        scenario_begin(s);
        begin_at = TIME_NEVER;
    }
    while (sample_at <= s->until_ns) {
        world_run(s->w, time_min(sample_at, begin_at));
        if (begin_at <= sample_at) {
            scenario_begin(s);
            begin_at = TIME_NEVER;
        }
        if (world_now(s->w) < sample_at)
            continue;
        for (uint32_t i = 0; i < s->n_loads; i++)
            load_sample(&s->load[i], s->r, sample_at, s->sample_ns);
        for (uint32_t i = 0; i < s->n_tcps; i++)
            tcp93_sample(&s->tcp[i], s->r, sample_at, s->sample_ns);
        paths_sample(&s->paths, s->r, sample_at);
        sample_at += s->sample_ns;
    }
    if (begin_at != TIME_NEVER) { /* no sample comes after it */
        world_run(s->w, begin_at);
        scenario_begin(s);
    }
    world_run(s->w, s->until_ns);
}

static void scenario_tell(struct scenario *s)
{
    result_value(s->r, (double)(s->until_ns - s->from_ns) / 1e9, "s", "observed");
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_tell(&s->load[i], s->r, s->until_ns - s->from_ns);
    for (uint32_t i = 0; i < s->n_probes; i++)
        probes_tell(&s->probes[i], s->r);
    for (uint32_t i = 0; i < s->n_tcps; i++)
        tcp93_tell(&s->tcp[i], s->r, s->until_ns - s->from_ns);
    paths_tell(&s->paths, s->r);
}

/* Reports frames lost for want of our buffers: a world that lost some is not the one described. */
static void shortage_tell(struct scenario *s)
{
    uint64_t lost = s->no_mbuf + world_counts(s->w)->overflowed + paths_short(&s->paths);

    for (uint32_t i = 0; i < s->n_probes; i++)
        lost += s->probes[i].mirror.full + s->probes[i].probe.no_mbuf;
    for (uint32_t i = 0; i < s->n_tcps; i++)
        lost += s->tcp[i].tcp.counts.no_mbuf + s->tcp[i].receiver.counts.no_mbuf;
    if (lost != 0)
        text_wrong(s->t, "world", NULL,
                   "%llu frames were lost, because more were under way than there are buffers (%u, "
                   "and %u per path); raise frames, shorten delays and queues, or lower rates",
                   (unsigned long long)lost, s->pools->wire->size, s->frames);
}

/* Closes all connections. All buffers must come back before hosts may go. */
static void scenario_close(struct scenario *s)
{
    const struct scenario_pools *p = s->pools;

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

/* Reads the world: its hosts, their users, and how much memory they need. */
static void scenario_read(struct scenario *s)
{
    const char *world = text_section(s->t, "world", 0);

    times_read(s);
    hosts_read(s);
    loads_read(s);
    for (uint32_t i = 0; i < s->n_hosts; i++)
        s->conns[i] = RTE_MAX(s->conns[i], 1u);
    s->frames = (uint32_t)text_number(s->t, world == NULL ? "world" : world, "frames", "4000", 1,
                                      POOLS_FRAMES_MAX);
    s->frame_bytes = pools_frame_bytes(s->frames, 0);
    s->frames = RTE_MAX(s->frames, POOLS_FRAMES);
    for (uint32_t i = 0; i < s->n_hosts; i++) {
        uint32_t mtu = (uint32_t)text_number(s->t, s->host_section[i], "mtu", "1500", WIRE_MTU_MIN,
                                             WIRE_MTU_MAX);

        s->frame_bytes = RTE_MAX(s->frame_bytes, mtu + POOLS_OVER_MTU);
    }
    /* Models send their frames whole, whatever the mtu of their hosts. */
    for (uint32_t i = 0; i < s->n_probes; i++)
        s->frame_bytes = RTE_MAX(s->frame_bytes, probes_ip_len(&s->probes[i]) + POOLS_OVER_MTU);
    for (uint32_t i = 0; i < s->n_tcps; i++)
        s->frame_bytes =
            RTE_MAX(s->frame_bytes, s->tcp[i].cfg.mss_bytes + SEGMENT_IP_BYTES + POOLS_OVER_MTU);
}

static struct scenario *scenario_create(struct text *t, uint64_t seed, struct scenario_pools *pools)
{
    struct scenario *s = calloc(1, sizeof *s);

    CHECK(s != NULL);
    s->t = t;
    s->seed = seed;
    s->pools = pools;
    scenario_read(s);
    return s;
}

struct scenario_memory scenario_size(struct text *t)
{
    struct scenario_pools none = {0};
    struct scenario *s = scenario_create(t, 0, &none);
    struct scenario_memory m = {.used_bytes = pools_bytes(s->frames, s->frame_bytes) +
                                              s->frames * sizeof(struct flight)};

    for (uint32_t i = 0; i < s->n_hosts; i++) {
        struct world_port port = {0};
        struct host_config h = host_config_of(s, i, &port);

        m.used_bytes += host_memory_bytes(&h);
        m.reserved_bytes +=
            pools_path_bytes(port.up, s->frames) + pools_path_bytes(port.down, s->frames);
    }
    m.reserved_bytes += m.used_bytes;
    for (uint32_t i = 0; i < s->n_loads; i++)
        m.used_bytes += s->load[i].cfg.request_bytes;
    free(s);
    return m;
}

static void scenario_make(struct scenario *s)
{
    struct world_config cfg = {.frames_max = s->frames,
                               .pool = s->pools->wire,
                               .poll_ns = s->poll_ns != 0 ? s->poll_ns : 1,
                               .control_ns = s->control_ns,
                               .app = on_app,
                               .rx = on_rx,
                               .ctx = s};

    s->w = world_create(&cfg);
    for (uint32_t i = 0; i < s->n_hosts; i++)
        host_make(s, i);
    if (text_right(s->t))
        scenario_open(s);
}

void scenario_run(struct text *t, uint64_t seed, struct scenario_pools *pools, struct result *r)
{
    struct scenario *s = scenario_create(t, seed, pools);

    s->r = r;
    if (!pools_want(pools, s->frames, s->frame_bytes)) {
        text_wrong(t, "world", "frames",
                   "no memory for the buffers of %u frames, which take %llu MB; lower it, or free "
                   "some memory",
                   s->frames, (unsigned long long)(pools_bytes(s->frames, s->frame_bytes) >> 20));
        free(s);
        return;
    }
    scenario_make(s);
    if (t->err[0] == '\0') {
        scenario_play(s);
        scenario_tell(s);
        shortage_tell(s);
        scenario_close(s);
    }
    world_destroy(s->w);
    for (uint32_t i = 0; i < s->n_loads; i++)
        load_free(&s->load[i]);
    for (uint32_t i = 0; i < s->n_probes; i++)
        probes_free(&s->probes[i]);
    free(s);
}
