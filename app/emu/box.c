/* SPDX-License-Identifier: BSD-3-Clause */
/* See box.h. */
#include "emu/box.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/buffer.h"
#include "common/queues.h"
#include "drivers/device.h"
#include "emu/worker.h"

#define POOL_CACHE    256
#define COMPACT_BYTES 128 /* of the largest frame kept as bytes; doc/path.md names this number */

const char *const box_direction[2] = {"forward", "reverse"};

/* ---- making and unmaking ------------------------------------------------------------------ */

static enum say_exit pool_make(struct box *b, char *err, size_t err_len)
{
    uint32_t frame = port_frame_bytes(b->port, b->opt.mtu);
    uint32_t room = RTE_PKTMBUF_HEADROOM + buffer_bytes(frame, 64);
    uint64_t held = port_held(&b->port[0]) + port_held(&b->port[1]) + 4 * CABLE_BURST;
    uint64_t n = buffer_parts(frame) *
                 (b->opt.packets[0] + b->opt.packets[1] + (uint64_t)b->layout.queues * held +
                  (uint64_t)b->layout.workers * 2 * POOL_CACHE);
    uint64_t bytes = n * (room + sizeof(struct rte_mbuf) + 64);

    b->pool = rte_pktmbuf_pool_create("emu", (unsigned int)n, POOL_CACHE, 0, (uint16_t)room,
                                      rte_eth_dev_socket_id(b->port[0].id));
    if (b->pool != NULL)
        return EXIT_OK;
    snprintf(err, err_len,
             "no memory for %llu packet buffers of %u bytes (%s): about %llu MB; lower --packets, "
             "--queues or --mtu, or give more with -m MB before --",
             (unsigned long long)n, room, rte_strerror(rte_errno),
             (unsigned long long)(bytes >> 20) + 1);
    return EXIT_EAL;
}

int box_check(const char *spec, char common[BOX_TEXT_MAX], char *err, size_t err_len)
{
    struct path_config cfg = {.hz = 1000000000, .packets_max = 64};
    struct path *p = path_create(spec, &cfg, 0, err, err_len);

    if (p == NULL)
        return -EINVAL;
    snprintf(common, BOX_TEXT_MAX, "%s", path_common(p) != NULL ? path_common(p) : "");
    path_destroy(p);
    return 0;
}

static int specs_check(struct box *b, char *err, size_t err_len)
{
    char why[512];

    for (unsigned int i = 0; i < 2; i++)
        if (box_check(b->opt.spec[i], b->common[i], why, sizeof why) != 0) {
            snprintf(err, err_len, "%s path: %s", box_direction[i], why);
            return -EINVAL;
        }
    return 0;
}

static int ports_find(struct box *b, char *err, size_t err_len)
{
    for (unsigned int i = 0; i < 2; i++)
        if (port_find(&b->port[i], b->opt.port[i], i, err, err_len) != 0)
            return -ENODEV;
    if (b->port[0].id == b->port[1].id) {
        snprintf(err, err_len, "--ports names %s twice; a box has two ports", b->port[0].name);
        return -EINVAL;
    }
    for (unsigned int i = 0; i < 2; i++)
        if (port_frame_check(&b->port[i], b->opt.mtu, err, err_len) != 0)
            return -EINVAL;
    return 0;
}

/* Decides about queues, paths and workers. */
static int layout_decide(struct box *b, char *err, size_t err_len)
{
    unsigned int lcores[2 * CABLE_QUEUES_MAX];
    uint16_t asked = (uint16_t)b->opt.queues, workers = worker_lcores(lcores), usual[2];
    bool divided[2], made[2];

    for (unsigned int i = 0; i < 2; i++) {
        if (port_queues(&b->port[i], asked, workers, &usual[i], err, err_len) != 0)
            return -EINVAL;
        /* The console may set a path that cannot be divided. */
        divided[i] = b->opt.split || (b->common[i][0] == '\0' && !b->opt.interactive);
        made[i] = queues_arg(b->port[i].driver) != NULL;
    }
    /* A device that was made with a number of queues may get frames on each of them. */
    for (unsigned int i = 0; i < 2; i++)
        if (made[1 - i] && !made[i] &&
            port_queues(&b->port[i], 0, usual[1 - i], &usual[i], err, err_len) != 0)
            return -EINVAL;
    layout_make(&b->layout, asked, usual, divided, workers);
    for (unsigned int i = 0; i < b->layout.workers; i++)
        b->worker[i] = (struct box_worker){.box = b, .lcore = lcores[i]};
    for (unsigned int i = 0; i < 2; i++)
        b->port[i].queues = b->layout.queues;
    return 0;
}

/* Makes the cable that runs path q of each direction. */
static int cable_make(struct box *b, uint16_t q, char *err, size_t err_len)
{
    struct cable_config cfg = {
        .name = "emu",
        .queue = q,
        .spec = {b->opt.spec[0], b->opt.spec[1]},
        .hz = b->clock.hz,
        .seed = b->opt.seed,
        .pool = b->pool,
        .compact_bytes = COMPACT_BYTES,
        .socket = SOCKET_ID_ANY,
    };

    for (unsigned int i = 0; i < 2; i++) {
        uint16_t paths = b->layout.paths[i];
        struct box_worker *w = &b->worker[layout_worker(&b->layout, i, q)];

        cfg.port[i] = b->port[i].id;
        cfg.offload[i] = interface_offload(&b->interface[i], q);
        if (q >= paths)
            continue;
        cfg.packets_max[i] = (uint32_t)((b->opt.packets[i] + paths - 1) / paths);
        cfg.queues[i] = paths > 1 ? 1 : b->layout.queues;
        w->part[w->n].cable = q;
        w->part[w->n++].direction = (uint8_t)i;
    }
    b->cable[q] = cable_create(&cfg, err, err_len);
    return b->cable[q] != NULL ? 0 : -ENOMEM;
}

static int ports_start(struct box *b, char *err, size_t err_len)
{
    for (unsigned int i = 0; i < 2; i++) {
        struct rte_mempool *in = b->interface[i].pool;

        if (port_start(&b->port[i], b->opt.mtu, in != NULL ? in : b->pool, err, err_len) != 0)
            return -EIO;
        b->started[i] = true;
        snprintf(b->spec[i], sizeof b->spec[i], "%s", b->opt.spec[i]);
    }
    return 0;
}

enum say_exit box_make(struct box *b, char *err, size_t err_len)
{
    enum say_exit rc;

    if (specs_check(b, err, err_len) != 0)
        return EXIT_USAGE;
    if (ports_find(b, err, err_len) != 0 || layout_decide(b, err, err_len) != 0)
        return EXIT_PORT;
    rc = pool_make(b, err, err_len);
    if (rc != EXIT_OK)
        return rc;
    for (unsigned int i = 0; i < 2; i++)
        if (interface_make(&b->interface[i], &b->port[i], i, b->opt.mtu, b->pool, err, err_len) !=
            0)
            return EXIT_EAL;
    for (uint16_t q = 0; q < b->layout.paths[0] || q < b->layout.paths[1]; q++)
        if (cable_make(b, q, err, err_len) != 0)
            return EXIT_EAL;
    return ports_start(b, err, err_len) == 0 ? EXIT_OK : EXIT_PORT;
}

void box_unmake(struct box *b)
{
    for (uint16_t q = 0; q < CABLE_QUEUES_MAX; q++)
        cable_destroy(b->cable[q]);
    for (unsigned int i = 0; i < 2; i++)
        if (b->started[i])
            port_stop(&b->port[i]);
    for (unsigned int i = 0; i < 2; i++)
        interface_unmake(&b->interface[i]);
    rte_mempool_free(b->pool);
}

/* ---- what people are told ------------------------------------------------------------------- */

/* Warns of queues that nobody polls. */
static void queues_say(const struct box *b, unsigned int i)
{
    const char *arg = queues_arg(b->port[i].driver);
    struct rte_eth_dev_info info = {0};

    if (arg == NULL || rte_eth_dev_info_get(b->port[i].id, &info) != 0 ||
        queues_max(&info) <= b->layout.queues)
        return;
    say_port(SAY_WARNING, b->port[i].name,
             "was made with %u queues, and the box has %u: frames that come on the "
             "others are lost; give its --vdev %s=%u, or both ports %u queues",
             queues_max(&info), b->layout.queues, arg, b->layout.queues, queues_max(&info));
}

static void paths_say(const struct box *b, unsigned int i)
{
    const struct layout *l = &b->layout;

    if (l->paths[i] > 1)
        say(SAY_INFO, "%s: each queue has a path of its own%s%s%s", box_direction[i],
            b->common[i][0] != '\0' ? ", so the limits of \"" : "", b->common[i],
            b->common[i][0] != '\0' ? "\" hold for each queue" : "");
    else if (b->common[i][0] != '\0')
        say(SAY_INFO,
            "%s: one path for all queues, as \"%s\" is one for all flows; --split makes one for "
            "each queue",
            box_direction[i], b->common[i]);
    else
        say(SAY_INFO,
            "%s: one path for all queues, as -i may set any path; --split makes one for each queue",
            box_direction[i]);
}

static void worker_say(const struct box *b, const struct box_worker *w)
{
    char text[1024];
    int len = 0;

    for (unsigned int k = 0; k < w->n && len < (int)sizeof text - 100; k++) {
        unsigned int i = w->part[k].direction;

        len += snprintf(text + len, sizeof text - (size_t)len, "%s%s queue%s %u", k > 0 ? ", " : "",
                        b->port[i].name,
                        b->layout.paths[i] == 1 && b->layout.queues > 1 ? "s 0 to" : "",
                        b->layout.paths[i] == 1 ? b->layout.queues - 1u : w->part[k].cable);
    }
    say(SAY_INFO, "lcore %u polls %s", w->lcore, text);
}

void box_say_layout(const struct box *b)
{
    const struct layout *l = &b->layout;
    unsigned int lcores[2 * CABLE_QUEUES_MAX];
    uint16_t n = worker_lcores(lcores);

    say(SAY_INFO, "%u queue%s at each port", l->queues, l->queues > 1 ? "s" : "");
    for (unsigned int i = 0; i < 2; i++)
        queues_say(b, i);
    for (unsigned int i = 0; i < 2 && l->queues > 1; i++)
        paths_say(b, i);
    for (unsigned int k = 0; k < l->workers; k++)
        worker_say(b, &b->worker[k]);
    if (n > l->workers)
        say(SAY_WARNING, "%u more lcore%s nothing to do; give -l fewer, or more --queues",
            n - l->workers, n - l->workers > 1 ? "s have" : " has");
}

void box_say_stuck(struct box *b)
{
    for (unsigned int i = 0; i < 2 && b->layout.queues > 1; i++)
        for (uint16_t q = 0; q < b->layout.queues; q++) {
            unsigned int d = 1 - i; /* the direction that sends on port i */
            bool own = b->layout.paths[d] > 1;
            bool stuck = cable_stuck(b->cable[own ? q : 0], d, own ? 0 : q);

            if (!stuck)
                b->said_stuck[i][q] = false;
            if (!stuck || b->said_stuck[i][q] || !device_link_up(b->port[i].id))
                continue;
            say_port(SAY_WARNING, b->port[i].name,
                     "the other end takes no frames of queue %u; is it stopped, or does it "
                     "have fewer queues? Give both neighbours and --queues the same number",
                     q);
            b->said_stuck[i][q] = true;
        }
}

/* ---- control -------------------------------------------------------------------------------- */

int box_set(struct box *b, unsigned int i, const char *spec, char *err, size_t err_len)
{
    char why[512];
    int rc = 0;

    for (uint16_t q = 0; q < b->layout.paths[i] && rc == 0; q++) {
        rc = cable_set(b->cable[q], i, spec, why, sizeof why);
        if (rc != 0 && q > 0)
            snprintf(err, err_len,
                     "%s: queues 0 to %u have the new path, the others not; set it again: %s",
                     box_direction[i], q - 1u, why);
        else if (rc != 0)
            snprintf(err, err_len, "%s path unchanged: %s", box_direction[i], why);
    }
    if (rc == 0)
        snprintf(b->spec[i], sizeof b->spec[i], "%s", spec);
    return rc;
}
