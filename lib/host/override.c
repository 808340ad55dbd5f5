/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator sets for single connections. An override is kept with the connection's
 * statistics, and forgotten with them. The application's own limit (host_limit()) bounds the
 * ceiling, whatever the operator sets. */
#include <errno.h>

#include "host/control_internal.h"

uint64_t override_min(const struct host_control *c, const struct flow_stats *r)
{
    if (r->override.rate_Bps != 0)
        return r->override.rate_Bps;
    return r->peers != SHARE_NO_PEER ? c->peers[r->peers].min_Bps : 0;
}

uint64_t override_ceiling(const struct host_control *c, const struct flow_stats *r)
{
    uint64_t ceiling = r->override.rate_Bps != 0 ? r->override.rate_Bps : r->override.ceiling_Bps;

    if (ceiling == 0 && r->peers != SHARE_NO_PEER)
        ceiling = c->peers[r->peers].ceiling_Bps;
    return ceiling != 0 ? RTE_MIN(ceiling, r->limit_Bps) : r->limit_Bps;
}

/* The statistics of an open connection; NULL if the connection is not open, or if control only has
 * the statistics of an earlier connection with its number. */
static struct flow_stats *stats_open(const struct host_control *c, uint32_t worker, uint32_t conn)
{
    const struct conn_public *p;

    if (worker >= c->n || conn >= c->hosts[worker]->cfg.conns)
        return NULL;
    p = &c->hosts[worker]->conns[conn].pub;
    if (counter_get(&p->state) != HOST_OPEN ||
        c->stats[worker][conn].epoch != __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE))
        return NULL;
    return &c->stats[worker][conn];
}

/* The sum of the minimums of all open connections but one. */
static uint64_t reserved_Bps(const struct host_control *c, const struct flow_stats *but)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->hosts[k]->cfg.conns; i++) {
            const struct flow_stats *r = stats_open(c, k, i);

            if (r != NULL && r != but)
                sum += RTE_MIN(override_min(c, r), SHARE_RATE_MAX_BPS);
        }
    return sum;
}

int host_control_override(struct host_control *c, uint32_t worker, uint32_t conn,
                          const struct host_override *o)
{
    struct flow_stats *r = stats_open(c, worker, conn);
    uint64_t most = c->ceiling_Bps != 0 ? RTE_MIN(c->max_Bps, c->ceiling_Bps) : c->max_Bps;

    if (r == NULL)
        return -ENOENT;
    if (o->rate_Bps > r->override.rate_Bps &&
        (o->rate_Bps > most || reserved_Bps(c, r) > most - o->rate_Bps))
        return -ENOSPC;
    r->override = *o;
    return 0;
}

void host_control_overrides(const struct host_control *c, uint32_t worker, uint32_t conn,
                            struct host_override *out)
{
    const struct flow_stats *r = stats_open(c, worker, conn);

    *out = r != NULL ? r->override : (struct host_override){0};
}
