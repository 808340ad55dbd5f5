/* SPDX-License-Identifier: BSD-3-Clause */
/* See start.h. */
#include "sluiced/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "common/clock.h"
#include "sluiced/control/captures.h"
#include "sluiced/control/command.h"
#include "sluiced/control/security.h"
#include "sluiced/session/memory.h"
#include "wire/frame.h"

/* ---- hosts ------------------------------------------------------------------------------- */

static void host_addresses(struct host_config *h, const struct config_port *cfg)
{
    int f;

    for (f = 0; f < 2; f++) {
        h->address[f] = cfg->address[f].addr;
        h->prefix_len[f] = (uint8_t)cfg->address[f].len;
        h->gateway[f] = cfg->gateway[f];
    }
    RTE_BUILD_BUG_ON(CONFIG_NEIGHBORS_MAX > HOST_FIXED_MAX);
    for (h->fixed_count = 0; h->fixed_count < cfg->neighbors.n; h->fixed_count++) {
        struct host_fixed *fixed = &h->fixed[h->fixed_count];

        fixed->addr = cfg->neighbors.addr[h->fixed_count];
        memcpy(fixed->mac.addr_bytes, cfg->neighbors.mac[h->fixed_count].b, RTE_ETHER_ADDR_LEN);
    }
}

static int host_fill(const struct daemon *d, const struct port *p, uint16_t queue,
                     struct host_config *h)
{
    const struct config_port *cfg = p->cfg;
    const struct port_pools *pools = &p->pools[queue];
    char err[CONFIG_ERROR_MAX];

    memset(h, 0, sizeof *h);
    snprintf(h->name, sizeof h->name, "%.12s/%u", cfg->name, (unsigned int)(queue & 0x3f));
    host_addresses(h, cfg);
    h->mac = p->mac;
    h->vlan = cfg->vlan != 0 ? (uint16_t)cfg->vlan : FRAME_VLAN_NONE;
    h->mtu = (uint16_t)cfg->mtu_bytes;
    h->udp_port = (uint16_t)cfg->udp_port;
    h->source_first = (uint16_t)cfg->source_ports.first;
    h->source_last = (uint16_t)cfg->source_ports.last;
    h->rss = &p->rss;
    h->worker = (uint8_t)queue;
    h->workers = (uint8_t)p->queues;
    h->hz = d->hz;
    h->conns = cfg->connections;
    h->depth = cfg->depth;
    h->gaps = cfg->gaps;
    h->ahead = cfg->ahead;
    h->early = cfg->early;
    h->silence_ms = (uint32_t)(cfg->silence_ns / 1000000);
    h->repeat_us = (uint32_t)(cfg->repeat_ns / 1000);
    h->first_rate_Bps = cfg->first_rate_Bps;
    h->first_burst_bytes = cfg->first_burst_bytes;
    h->capacity_Bps = cfg->capacity_Bps;
    h->burst_bytes = cfg->burst_bytes;
    h->control_ns = d->config.daemon.control_interval_ns;
    h->contract = (struct contract_config){.pcr_Bps = cfg->pcr_Bps,
                                           .scr_Bps = cfg->scr_Bps,
                                           .mbs_bytes = cfg->mbs_bytes,
                                           .cdvt_ns = cfg->cdvt_ns};
    h->security = (enum host_security)cfg->security;
    h->secured_max = CONFIG_PEERS_MAX;
    h->ecn_off = cfg->ecn == CONFIG_NO;
    h->occupancy = (enum host_occupancy)cfg->occupancy; /* both enums have the same order */
    if (h->occupancy != HOST_OCCUPANCY_OFF)             /* config.c has checked the law */
        CHECK(occupancy_law_parse(cfg->occupancy_law, h->occupancy == HOST_OCCUPANCY_DELAY,
                                  &h->occupancy_law, err, sizeof err) == 0);
    h->tx_sum = p->tx_sum;
    h->rx_sum = p->rx_sum;
    h->rx_unsummed = p->rx_unsummed;
    h->rx_frames = p->rx_min;
    h->exception = config_port_excepted(cfg);
    h->tx_attach = p->attach;
    h->head_pool = pools->head;
    h->attach_pool = pools->attach;
    h->copy_pool = pools->copy;
    return getrandom(&h->secrets, sizeof h->secrets, 0) == sizeof h->secrets ? 0 : -EIO;
}

/* The queue's port becomes the near end of an emulated wire, whose far end is the device. */
static int port_queue_wire(struct daemon *d, struct port_queue *q, char *err, size_t err_len)
{
    const struct config_port *cfg = q->port->cfg;
    struct cable_config c = {
        .port = {CABLE_MAKE, q->port->id},
        .queues = {1, 1},
        .spec = {cfg->wire_out[0] != '\0' ? cfg->wire_out : cfg->wire,
                 cfg->wire_in[0] != '\0' ? cfg->wire_in : cfg->wire},
        .hz = d->hz,
        .seed = 1,
        .packets_max = {cfg->wire_packets, cfg->wire_packets},
        .pool = q->copies,
        .socket = q->port->socket,
    };
    char why[CONFIG_ERROR_MAX];

    snprintf(c.name, sizeof c.name, "wire%u", q->number);
    q->cable = cable_create(&c, why, sizeof why);
    if (q->cable == NULL) {
        snprintf(err, err_len, "port %s: wire: %.400s", cfg->name, why);
        return -EINVAL;
    }
    q->port_id = cable_port(q->cable, 0);
    return 0;
}

static int port_queue_create(struct daemon *d, struct port *p, uint16_t queue, char *err,
                             size_t err_len)
{
    uint32_t number = d->n_queues;
    struct port_queue *q = &d->queues[number];
    struct host_config h;
    char why[CONFIG_ERROR_MAX];

    if (host_fill(d, p, queue, &h) != 0) {
        snprintf(err, err_len, "no random numbers from the kernel: %s", strerror(errno));
        return -EIO;
    }
    q->port = p;
    q->port_id = p->id;
    q->queue = queue;
    q->timed = p->timed && nic_clock_learn(&q->clock, p->id, d->hz) == 0;
    if (q->timed) {
        h.tx_lead_ns = p->cfg->tx_lead_ns;
        h.tx_time_offset = p->tx_time_offset;
        h.tx_time_flag = p->tx_time_flag;
    }
    q->host = host_create(&h, clock_now(), why, sizeof why);
    if (q->host == NULL) {
        snprintf(err, err_len, "port %s: %s", p->cfg->name, why);
        return -ENOMEM;
    }
    q->workers = (uint8_t)p->queues;
    q->number = number;
    q->copies = p->pools[queue].rx;
    q->active = p->started;
    q->done_cleanup = p->done_cleanup && p->attach;
    port_queue_set_hz(q, d->hz);
    if (h.exception)
        exception_queue_init(&q->exception, &d->exceptions[p - d->ports], queue, d->hz);
    d->hosts[number] = q->host;
    d->n_queues++;
    return config_port_wired(p->cfg) ? port_queue_wire(d, q, err, err_len) : 0;
}

/* Makes the socket's folder, but not the folders above it. Drivers may need the folder, too. */
static void folder_make(const char *path)
{
    char folder[CONFIG_SOCKET_MAX];
    char *slash;

    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return;
    *slash = '\0';
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return; /* bind() of the socket will report the missing folder */
}

/* Refuses a socket that another daemon serves. Called before ports are opened: two daemons with the
 * same configuration would also fight for the ports. */
static int socket_check(const char *path, char *err, size_t err_len)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool taken;

    if (fd < 0)
        return 0; /* sessions_create() will report the error */
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", path);
    taken = connect(fd, (struct sockaddr *)&sun, sizeof sun) == 0 || errno == EAGAIN;
    close(fd);
    if (!taken)
        return 0;
    snprintf(err, err_len, "another daemon serves %s; stop it, or give this one its own socket",
             path);
    return -EADDRINUSE;
}

/* ---- ports ------------------------------------------------------------------------------- */

void start_peers(const struct config *cfg, struct host_control *control)
{
    struct host_peers peers[HOST_PEERS_MAX];
    uint32_t n = 0;

    RTE_BUILD_BUG_ON(CONFIG_PEERS_MAX > HOST_PEERS_MAX);
    for (uint32_t i = 0; i < 2 * cfg->n_peers; i++) {
        const struct config_peer *p = &cfg->peers[i / 2];
        const struct config_prefix *a = &p->address[i % 2];

        if (addr_is_unset(&a->addr))
            continue;
        CHECK(n < HOST_PEERS_MAX); /* config.c counts networks */
        peers[n++] = (struct host_peers){.address = a->addr,
                                         .prefix_len = (uint8_t)a->len,
                                         .priority = (uint8_t)p->priority,
                                         .weight = (uint16_t)p->weight,
                                         .min_Bps = p->min_Bps,
                                         .ceiling_Bps = p->ceiling_Bps,
                                         .all_min_Bps = p->all_min_Bps,
                                         .all_ceiling_Bps = p->all_ceiling_Bps};
    }
    host_control_set_peers(control, peers, n);
}

static int port_make(struct daemon *d, uint32_t index, char *err, size_t err_len)
{
    struct port *p = &d->ports[index];
    uint32_t first = d->n_queues;
    uint16_t q;
    int rc;

    d->n_ports = index + 1; /* start_undo() cleans up even a half-made port */
    d->first_queue[index] = first;
    rc = port_open(p, &d->config.ports[index], d->config.daemon.idle == CONFIG_IDLE_SLEEP,
                   layout_share(&d->config), err, err_len);
    if (rc == 0 && first + p->queues > DAEMON_QUEUES_MAX) {
        snprintf(err, err_len,
                 "port %s: its %u queues and the %u of the ports before it are more than %d; set "
                 "workers to fewer",
                 p->cfg->name, p->queues, first, DAEMON_QUEUES_MAX);
        rc = -ENOSPC;
    }
    if (rc == 0 && config_port_excepted(p->cfg))
        rc = exception_open(&d->exceptions[index], p, err, err_len);
    if (rc == 0)
        rc = port_start(p, err, err_len);
    for (q = 0; rc == 0 && q < p->queues; q++)
        rc = port_queue_create(d, p, q, err, err_len);
    if (rc == 0)
        rc = port_queue_join(&d->queues[first], p->queues, err, err_len);
    if (rc != 0)
        return rc;
    host_join(&d->hosts[first], p->queues);
    d->controls[index] =
        host_control_create(&d->hosts[first], p->queues, clock_now(), err, err_len);
    if (d->controls[index] == NULL)
        return -ENOMEM;
    start_peers(&d->config, d->controls[index]);
    return security_start(d, index, err, err_len);
}

static void port_say(const struct daemon *d, const struct port *p)
{
    const struct config_port *cfg = p->cfg;
    const uint8_t *b = p->mac.addr_bytes;
    char text[2][ADDR_TEXT_MAX + 8] = {"", ""}, addr[ADDR_TEXT_MAX];
    int f;

    for (f = 0; f < 2; f++) {
        if (!addr_is_unset(&cfg->address[f].addr))
            snprintf(text[f], sizeof text[f], " %s/%u", addr_format(&cfg->address[f].addr, addr),
                     cfg->address[f].len);
    }
    say_port(SAY_INFO, cfg->name,
             "%s,%s%s, MAC %02x:%02x:%02x:%02x:%02x:%02x, MTU %u, %u queue(s), payload %s, "
             "checksum %s, paced by %s",
             p->driver, text[0], text[1], b[0], b[1], b[2], b[3], b[4], b[5], cfg->mtu_bytes,
             p->queues, p->attach ? "attached" : "copied",
             p->tx_sum == HOST_SUM_NONE      ? "none"
             : p->tx_sum == HOST_SUM_OFFLOAD ? "offload"
                                             : "software",
             d->queues[d->first_queue[p - d->ports]].timed ? "the NIC" : "software");
    if (config_port_excepted(cfg))
        say_port(SAY_INFO, cfg->name, "frames that are not Sluice's go to the kernel through %s",
                 cfg->exception);
}

/* ---- sessions ---------------------------------------------------------------------------- */

static int memory_map_all(void *ctx, void *memory, uint64_t len_bytes)
{
    struct daemon *d = ctx;

    return memory_map(d->ports, d->n_ports, memory, len_bytes);
}

static void memory_unmap_all(void *ctx, void *memory, uint64_t len_bytes)
{
    struct daemon *d = ctx;

    memory_unmap(d->ports, d->n_ports, memory, len_bytes);
}

static int sessions_make(struct daemon *d, char *err, size_t err_len)
{
    const struct sessions_config cfg = {
        .socket_path = d->config.daemon.socket,
        .max_sessions = d->config.daemon.sessions,
        .socket_group = d->config.daemon.socket_group,
        .quota_bytes = d->config.daemon.quota_bytes,
        .quota_total_bytes = d->config.daemon.quota_total_bytes,
        .unlocked = d->config.daemon.lock == CONFIG_LOCK_NO,
        .access = access_make(&d->config),
        .hosts = d->hosts,
        .n_hosts = d->n_queues,
        .route = route_find,
        .show = show_text,
        .command = command_run,
        .capture = captures_begin,
        .capture_end = captures_end,
        .capture_free = captures_free,
        .map = memory_map_all,
        .unmap = memory_unmap_all,
        .ctx = d,
    };
    uint32_t i;

    if (cfg.access == NULL) {
        snprintf(err, err_len, "no memory for client sessions");
        return -1;
    }
    d->sessions = sessions_create(&cfg, err, err_len);
    if (d->sessions == NULL)
        return -1;
    for (i = 0; i < d->n_queues; i++)
        d->queues[i].channels = sessions_channels(d->sessions, i);
    return 0;
}

/* Sets up what wakes workers from their naps, and control from its rest. */
static void wakeups_make(struct daemon *d)
{
    if (d->config.secrets != NULL) /* without descriptors, control is only slower to notice */
        d->control_event = RTE_MAX(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), 0);
    for (uint32_t i = 0; i < d->n_workers; i++) {
        struct worker *w = &d->workers[i];

        w->control_event = d->control_event;
        w->all_wake = true;
        for (uint32_t k = 0; k < w->n_queues; k++) {
            const struct port_queue *q = w->queues[k];
            bool wakes = port_add_wakeup(q->port, q->queue, &w->wakeup);

            if (wakes && q->exception.on) /* frames that the kernel sends must wake w, too */
                wakes = wakeup_add(&w->wakeup, q->exception.port_id, q->exception.queue);
            /* Frames that other workers of the port hand over do not wake w. */
            w->all_wake = w->all_wake && wakes && q->workers == 1;
        }
        w->all_wake = w->all_wake && wakeup_add_eventfd(&w->wakeup);
        for (uint32_t k = 0; k < w->n_queues && w->all_wake; k++)
            channels_set_wakeup(w->queues[k]->channels, &w->wakeup);
    }
}

/* ---- the whole --------------------------------------------------------------------------- */

enum say_exit start_make(struct daemon *d, char *err, size_t err_len)
{
    uint32_t i;

    if (socket_check(d->config.daemon.socket, err, err_len) != 0)
        return EXIT_SOCKET;
    folder_make(d->config.daemon.socket);
    d->hz = clock_measure_hz();
    d->capture_clock.clock.hz = d->hz;
    for (i = 0; i < d->config.n_ports; i++) {
        if (port_make(d, i, err, err_len) != 0)
            return EXIT_PORT;
        port_say(d, &d->ports[i]);
    }
    if (layout_make(d, err, err_len) != 0)
        return EXIT_CONFIG;
    if (sessions_make(d, err, err_len) != 0)
        return EXIT_SOCKET;
    wakeups_make(d);
    layout_say(d);
    return EXIT_OK;
}

/* Ports stop first: mbufs in their rings refer to memory of hosts and clients. */
enum say_exit start_undo(struct daemon *d)
{
    enum say_exit rc = EXIT_OK;
    uint32_t i;

    for (i = 0; i < d->n_workers; i++)
        wakeup_close(&d->workers[i].wakeup);
    if (d->control_event > 0)
        close(d->control_event);
    for (i = 0; i < d->n_ports; i++)
        port_stop(&d->ports[i]);
    for (i = 0; i < d->n_queues; i++) {
        port_queue_drain(&d->queues[i]);
        cable_destroy(d->queues[i].cable);
    }
    if (d->sessions != NULL)
        sessions_destroy(d->sessions);
    for (i = 0; i < d->n_ports; i++) {
        if (d->controls[i] != NULL)
            host_control_destroy(d->controls[i]);
        /* the last port may have wanted more queues than there are */
        port_queue_part(&d->queues[d->first_queue[i]],
                        RTE_MIN(d->ports[i].queues, DAEMON_QUEUES_MAX - d->first_queue[i]));
    }
    for (i = 0; i < d->n_queues; i++)
        host_destroy(d->hosts[i]);
    count_free(d);
    for (i = 0; i < d->n_ports; i++) {
        uint32_t lost;

        exception_close(&d->exceptions[i]);
        lost = port_close(&d->ports[i]);
        exception_free(&d->exceptions[i]);
        if (lost > 0) {
            say_port(SAY_ERROR, d->config.ports[i].name,
                     "%u mbufs did not come back; please report this", lost);
            rc = EXIT_FAULT;
        }
    }
    return rc;
}
