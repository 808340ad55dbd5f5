/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/line.h"

#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"
#include "path/path.h"
#include "wire/frame.h"

#define LINE_BURST 32u

struct line {
    struct path *path[2];
    struct {
        struct node node;
        uint32_t end;
    } at[LINE_NODES_MAX];
    uint32_t n;
    uint64_t now, lost;
};

struct line *line_create(const struct line_config *cfg, char *err, size_t err_len)
{
    struct line *l = rte_zmalloc("line", sizeof *l, 64);

    CHECK(l != NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct path_config path = {cfg->hz, 2 * cfg->seed + i, cfg->packets_max, cfg->pool, 0};

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
    CHECK(l->n < LINE_NODES_MAX && end < 2);
    l->at[l->n].node = node;
    l->at[l->n++].end = end;
}

uint64_t line_now(const struct line *l)
{
    return l->now;
}

const struct path *line_path(const struct line *l, uint32_t end)
{
    return l->path[end];
}

uint64_t line_lost(const struct line *l)
{
    return l->lost;
}

static void frame_deliver(struct line *l, uint32_t end, struct rte_mbuf *m)
{
    struct frame f;

    if (frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f) == FRAME_UDP)
        for (uint32_t i = 0; i < l->n; i++) {
            const struct node *node = &l->at[i].node;

            if (l->at[i].end == end && node->port == f.dport && node->rx != NULL) {
                node->rx(node->self, &m, 1, l->now);
                return;
            }
        }
    l->lost++;
    rte_pktmbuf_free(m);
}

static void frames_arrive(struct line *l, uint32_t from)
{
    struct rte_mbuf *m;

    while (path_next(l->path[from]) <= l->now && path_pop(l->path[from], &m, 1, l->now) == 1)
        frame_deliver(l, 1 - from, m);
}

static void nodes_send(struct line *l)
{
    struct rte_mbuf *m[LINE_BURST];
    uint16_t n;

    for (uint32_t i = 0; i < l->n; i++) {
        const struct node *node = &l->at[i].node;

        if (node->next(node->self, l->now) > l->now)
            continue;
        do {
            n = node->tx(node->self, m, LINE_BURST, l->now);
            if (n > 0)
                path_push(l->path[l->at[i].end], m, n, l->now);
        } while (n == LINE_BURST);
    }
}

static uint64_t line_next(const struct line *l)
{
    uint64_t next = time_min(path_next(l->path[0]), path_next(l->path[1]));

    for (uint32_t i = 0; i < l->n; i++)
        next = time_min(next, l->at[i].node.next(l->at[i].node.self, l->now));
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
        nodes_send(l);
    }
    l->now = until > l->now ? until : l->now;
}
