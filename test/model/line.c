/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/line.h"

#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"
#include "path/path.h"
#include "sim/nodes.h"

struct line {
    struct path *path[2];
    struct nodes nodes; /* places: ends */
    uint64_t now;
};

struct line *line_create(const struct line_config *cfg, char *err, size_t err_len)
{
    struct line *l = rte_zmalloc("line", sizeof *l, 64);

    CHECK(l != NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct path_config path = {cfg->hz, 2 * cfg->seed + i, cfg->packets_max, cfg->pool, 0, 0};

        l->path[i] = path_create(cfg->spec[i], &path, 0, err, err_len);
        if (l->path[i] == NULL) {
            line_destroy(l);
            return NULL;
        }
    }
    return l;
}

void line_destroy(struct line *l)
{
    for (uint32_t i = 0; i < 2; i++)
        if (l->path[i] != NULL)
            path_destroy(l->path[i]);
    rte_free(l);
}

void line_add(struct line *l, uint32_t end, struct node node)
{
    CHECK(end < 2);
    nodes_add(&l->nodes, end, node);
}

const struct path *line_path(const struct line *l, uint32_t end)
{
    return l->path[end];
}

static void frame_deliver(const struct line *l, uint32_t end, struct rte_mbuf *m)
{
    const struct node *node = nodes_find(&l->nodes, end, m);

    if (node != NULL)
        node->rx(node->self, &m, 1, l->now);
    else
        rte_pktmbuf_free(m);
}

static void frames_arrive(struct line *l, uint32_t from)
{
    struct rte_mbuf *m;

    while (path_next(l->path[from]) <= l->now && path_pop(l->path[from], &m, 1, l->now) == 1)
        frame_deliver(l, 1 - from, m);
}

static void frames_leave(void *ctx, uint32_t end, struct rte_mbuf **m, uint16_t n)
{
    const struct line *l = ctx;

    path_push(l->path[end], m, n, l->now);
}

static uint64_t line_next(const struct line *l)
{
    uint64_t next = time_min(path_next(l->path[0]), path_next(l->path[1]));

    for (uint32_t end = 0; end < 2; end++)
        next = time_min(next, nodes_next(&l->nodes, end, l->now));
    return next;
}

void line_run(struct line *l, uint64_t until)
{
    for (;;) {
        uint64_t next = line_next(l);

        if (next > until)
            break;
        l->now = next > l->now ? next : l->now;
        frames_arrive(l, 0);
        frames_arrive(l, 1);
        for (uint32_t end = 0; end < 2; end++)
            nodes_send(&l->nodes, end, l->now, frames_leave, l);
    }
    l->now = until > l->now ? until : l->now;
}
