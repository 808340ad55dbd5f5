/* SPDX-License-Identifier: BSD-3-Clause */
/* See paths.h. */
#include "lab/paths.h"

#include "path/path.h"

static struct path_sums sums_of(const struct path *p)
{
    const struct path_counts *c = path_counts(p);
    struct path_sums s = {.in = c->in_packets, .out = c->out_packets, .out_bytes = c->out_bytes};
    struct path_element_info e;

    s.dropped = c->drop_full + c->drop_no_mbuf;
    for (uint32_t i = 0; path_element(p, i, &e); i++) {
        s.dropped += e.counts->dropped;
        s.cells += e.counts->cells;
        s.excess += e.counts->cells_excess;
        s.queued_bytes += e.counts->queued_bytes;
    }
    return s;
}

/* Number, from 1 on, of the first element on the path that has dropped packets by now; 0: none. */
static uint32_t dropping(const struct path *p)
{
    struct path_element_info e;

    for (uint32_t i = 0; path_element(p, i, &e); i++)
        if (e.counts->dropped > 0)
            return i + 1;
    return 0;
}

static void paths_add(struct paths *w, const struct path *p, const char *host,
                      const char *direction)
{
    if (p != NULL)
        w->way[w->n++] = (struct way){.path = p, .host = host, .direction = direction};
}

void paths_open(struct paths *w, const struct world *world, const char *const *hosts,
                uint32_t n_hosts)
{
    for (uint32_t i = 0; i < n_hosts; i++) {
        paths_add(w, world_path(world, i, true), hosts[i], "up");
        paths_add(w, world_path(world, i, false), hosts[i], "down");
    }
}

void paths_begin(struct paths *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        w->way[i].before = sums_of(w->way[i].path);
}

void paths_sample(struct paths *w, struct result *r, uint64_t now)
{
    for (uint32_t i = 0; i < w->n; i++) {
        struct way *y = &w->way[i];

        if (y->queued == NULL)
            y->queued = result_series(r, "bytes", "queued.%s.%s", y->host, y->direction);
        result_point(y->queued, now, (double)sums_of(y->path).queued_bytes);
        if (y->first_drop == 0)
            y->first_drop = dropping(y->path);
    }
}

uint64_t paths_short(const struct paths *w)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->n; i++)
        n += path_counts(w->way[i].path)->drop_full + path_counts(w->way[i].path)->drop_no_mbuf;
    return n;
}

void paths_tell(const struct paths *w, struct result *r)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const struct way *y = &w->way[i];
        struct path_sums now = sums_of(y->path);

        result_value(r, (double)(now.in - y->before.in), "packets", "in.%s.%s", y->host,
                     y->direction);
        result_value(r, (double)(now.out - y->before.out), "packets", "out.%s.%s", y->host,
                     y->direction);
        result_value(r, (double)(now.out_bytes - y->before.out_bytes), "bytes", "out_bytes.%s.%s",
                     y->host, y->direction);
        result_value(r, (double)(now.dropped - y->before.dropped), "packets", "dropped.%s.%s",
                     y->host, y->direction);
        result_value(r, (double)now.dropped, "packets", "dropped_ever.%s.%s", y->host,
                     y->direction);
        result_value(r, (double)y->first_drop, "", "first_drop.%s.%s", y->host, y->direction);
        result_value(r, (double)(now.cells - y->before.cells), "cells", "cells.%s.%s", y->host,
                     y->direction);
        result_value(r, (double)(now.excess - y->before.excess), "cells", "cells_excess.%s.%s",
                     y->host, y->direction);
    }
}
