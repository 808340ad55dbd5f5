/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator says of single connections: it stands in the record, and goes with it. */
#include <errno.h>

#include "host/record.h"

uint64_t tune_min(const struct host_control *c, const struct conn_record *r)
{
    if (r->tune.rate_Bps != 0)
        return r->tune.rate_Bps;
    return r->peers != SHARE_NO_PEER ? c->peers[r->peers].min_Bps : 0;
}

uint64_t tune_ceiling(const struct host_control *c, const struct conn_record *r)
{
    uint64_t ceiling = r->tune.rate_Bps != 0 ? r->tune.rate_Bps : r->tune.ceiling_Bps;

    if (ceiling == 0 && r->peers != SHARE_NO_PEER)
        ceiling = c->peers[r->peers].ceiling_Bps;
    return ceiling != 0 ? ceiling : UINT64_MAX;
}

/* The record, if it is this very connection's. */
static struct conn_record *record_open(const struct host_control *c, uint32_t worker, uint32_t conn)
{
    const struct conn_public *p;

    if (worker >= c->n || conn >= c->hosts[worker]->cfg.conns)
        return NULL;
    p = &c->hosts[worker]->conns[conn].pub;
    if (counter_get(&p->state) != HOST_OPEN ||
        c->records[worker][conn].epoch != __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE))
        return NULL;
    return &c->records[worker][conn];
}

/* What all others that are open have reserved. */
static uint64_t reserved_Bps(const struct host_control *c, const struct conn_record *but)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t i = 0; i < c->hosts[k]->cfg.conns; i++) {
            const struct conn_record *r = record_open(c, k, i);

            if (r != NULL && r != but)
                sum += RTE_MIN(tune_min(c, r), SHARE_RATE_MAX_BPS);
        }
    return sum;
}

int host_control_tune(struct host_control *c, uint32_t worker, uint32_t conn,
                      const struct host_tune *tune)
{
    struct conn_record *r = record_open(c, worker, conn);
    uint64_t most = c->ceiling_Bps != 0 ? RTE_MIN(c->max_Bps, c->ceiling_Bps) : c->max_Bps;

    if (r == NULL)
        return -ENOENT;
    if (tune->rate_Bps > r->tune.rate_Bps &&
        (tune->rate_Bps > most || reserved_Bps(c, r) > most - tune->rate_Bps))
        return -ENOSPC;
    r->tune = *tune;
    return 0;
}

void host_control_tuned(const struct host_control *c, uint32_t worker, uint32_t conn,
                        struct host_tune *out)
{
    const struct conn_record *r = record_open(c, worker, conn);

    *out = r != NULL ? r->tune : (struct host_tune){0};
}
