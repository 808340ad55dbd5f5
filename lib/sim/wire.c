/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/wire.h"

#include "base/clock.h"
#include "path/path.h"
#include "sim/world.h"

bool wire_create(struct wire *l, const struct wire_make *make, uint64_t now, char *err,
                 size_t err_len)
{
    l->path = NULL;
    struct path_config cfg = {WORLD_HZ, make->seed, make->packets_max, make->pool, 0, 0};

    if (make->spec != NULL)
        l->path = path_create(make->spec, &cfg, now, err, err_len);
    return make->spec == NULL || l->path != NULL;
}

void wire_destroy(struct wire *l)
{
    if (l->path != NULL)
        path_destroy(l->path);
    l->path = NULL;
}

bool wire_is_path(const struct wire *l)
{
    return l->path != NULL;
}

void wire_push(struct wire *l, struct rte_mbuf *m, uint64_t now)
{
    if (m != NULL)
        path_push(l->path, &m, 1, now);
}

struct rte_mbuf *wire_pop(struct wire *l, uint64_t now)
{
    struct rte_mbuf *m = NULL;
    if (path_pop(l->path, &m, 1, now) == 0)
        return NULL;
    return m;
}

uint64_t wire_next(const struct wire *l, uint64_t now)
{
    uint64_t next = path_next(l->path);

    return next > now ? next : now + 1;
}

/* ---- plain links ------------------------------------------------------------------------------
 */

void sky_init(struct sky *s, struct flight *storage, uint32_t max)
{
    *s = (struct sky){.heap = storage, .max = max};
}

void sky_clear(struct sky *s)
{
    while (s->count > 0)
        rte_pktmbuf_free(sky_pop(s).m);
}

static bool flight_before(const struct flight *a, const struct flight *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

bool sky_push(struct sky *s, struct flight f)
{
    if (s->count == s->max)
        return false;
    uint32_t i = s->count++;

    f.order = s->order++;
    for (; i > 0 && flight_before(&f, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = f;
    return true;
}

uint64_t sky_next(const struct sky *s)
{
    return s->count > 0 ? s->heap[0].at : TIME_NEVER;
}

struct flight sky_pop(struct sky *s)
{
    struct flight top = s->heap[0], last = s->heap[--s->count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= s->count)
            break;
        if (child + 1 < s->count && flight_before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!flight_before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}
