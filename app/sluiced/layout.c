/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns queues to lcores. A queue goes to an lcore that its port names. The queues of ports that
 * name none go, in order, to the EAL's worker lcores that no port names and that control does not
 * have. If there are fewer lcores than queues, queues share lcores. If there is no worker lcore at
 * all, the main lcore works and control gets a thread.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include <rte_lcore.h>

#include "base/clock.h"
#include "common/say.h"
#include "control/moderation.h"
#include "sluiced/daemon.h"

/* Lcores for the queues whose ports name none. */
struct pool {
    uint32_t n, next;
    uint32_t id[RTE_MAX_LCORE];
};

static bool lcore_named(const struct config *c, uint32_t lcore)
{
    uint32_t p, i;

    for (p = 0; p < c->n_ports; p++) {
        for (i = 0; i < c->ports[p].lcores.n; i++) {
            if (c->ports[p].lcores.id[i] == lcore)
                return true;
        }
    }
    return false;
}

uint16_t layout_share(const struct config *c)
{
    unsigned int lcore, free = 0, ports = 0, taken = 0;

    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        if (!lcore_named(c, lcore) && lcore != c->daemon.control_lcore)
            free++;
    }
    for (uint32_t p = 0; p < c->n_ports; p++) {
        ports += c->ports[p].workers == 0;
        taken += c->ports[p].lcores.n == 0 ? c->ports[p].workers : 0;
    }
    return (uint16_t)(ports > 0 && free > taken + ports ? (free - taken) / ports : 1);
}

static void pool_fill(const struct daemon *d, struct pool *pool)
{
    const struct config *c = &d->config;
    unsigned int lcore;

    *pool = (struct pool){.n = 0};
    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        if (!lcore_named(c, lcore) && lcore != c->daemon.control_lcore)
            pool->id[pool->n++] = lcore;
    }
    if (pool->n > 0)
        return;
    RTE_LCORE_FOREACH_WORKER(lcore) /* no lcore is free: share all */
    {
        pool->id[pool->n++] = lcore;
    }
    if (pool->n == 0)
        pool->id[pool->n++] = rte_get_main_lcore();
}

static struct worker *worker_of(struct daemon *d, uint32_t lcore)
{
    struct worker *w;
    uint32_t i;

    for (i = 0; i < d->n_workers; i++) {
        if (d->workers[i].lcore == lcore)
            return &d->workers[i];
    }
    w = &d->workers[d->n_workers++];
    w->lcore = lcore;
    w->hz = d->hz;
    w->idle = (enum config_idle)d->config.daemon.idle;
    w->quiet_cycles = d->hz / 5000;     /* 200 us */
    w->nap_cycles = d->hz / 10000 * 17; /* 1.7 ms; the median frame waits half a nap */
    w->spin_cycles = d->hz / 40000;     /* 25 us, about what a nap costs */
    w->moderation_cycles = clock_cycles(&(struct clock){d->hz}, MODERATION_NAP_NS);
    w->armed_nap_cycles = d->hz / 100; /* 10 ms: what does not wake the worker can wait */
    wakeup_init(&w->wakeup);
    if (lcore == rte_get_main_lcore())
        d->main_works = true;
    return w;
}

int layout_make(struct daemon *d, char *err, size_t err_len)
{
    struct pool pool;
    uint32_t i;

    if (d->config.daemon.control_lcore != CONFIG_LCORE_ANY &&
        layout_pin(d->config.daemon.control_lcore) < 0) {
        snprintf(err, err_len,
                 "control_lcore = %u is not an lcore of the EAL; add it to -l before --, or choose "
                 "another",
                 d->config.daemon.control_lcore);
        return -EINVAL;
    }
    pool_fill(d, &pool);
    for (i = 0; i < d->n_queues; i++) {
        struct port_queue *q = &d->queues[i];
        const struct config_port *cfg = q->port->cfg;
        uint32_t lcore;
        struct worker *w;

        if (cfg->lcores.n > 0)
            lcore = cfg->lcores.id[q->queue % cfg->lcores.n];
        else
            lcore = pool.id[pool.next++ % pool.n];
        if (!rte_lcore_is_enabled(lcore)) {
            snprintf(err, err_len,
                     "port %s: lcore %u is not an lcore of the EAL; add it to -l before --, or "
                     "change lcores",
                     cfg->name, lcore);
            return -EINVAL;
        }
        w = worker_of(d, lcore);
        w->queues[w->n_queues++] = q;
        d->queue_worker[i] = w;
    }
    return 0;
}

int layout_pin(uint32_t lcore)
{
    rte_cpuset_t set;
    int cpu;

    if (lcore >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore))
        return -1;
    set = rte_lcore_cpuset(lcore);
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set))
            return cpu;
    }
    return -1;
}

/* A worker on another NUMA node than its NIC crosses sockets for each packet. */
static void warn_numa(const struct daemon *d)
{
    for (uint32_t i = 0; i < d->n_queues; i++) {
        const struct port *p = d->queues[i].port;
        uint32_t lcore = d->queue_worker[i]->lcore, node = rte_lcore_to_socket_id(lcore);

        if (p->socket >= 0 && node != (uint32_t)p->socket)
            say_port(SAY_WARNING, p->cfg->name,
                     "is on NUMA node %d, but its worker %u is on node %u (lcore %u), which is "
                     "slower; set lcores to lcores of node %d",
                     p->socket, d->queues[i].queue, node, lcore, p->socket);
    }
}

/* A worker that polls leaves no time of its CPU to others. */
static void warn_shared(const struct daemon *d)
{
    bool polls = d->config.daemon.idle != CONFIG_IDLE_SLEEP;
    uint32_t control = d->config.daemon.control_lcore != CONFIG_LCORE_ANY
                           ? d->config.daemon.control_lcore
                           : rte_get_main_lcore();

    for (uint32_t i = 0; i < d->n_workers; i++) {
        int cpu = layout_pin(d->workers[i].lcore);

        for (uint32_t k = 0; k < i; k++)
            if (cpu >= 0 && cpu == layout_pin(d->workers[k].lcore))
                say(SAY_WARNING,
                    "workers on lcores %u and %u share CPU %d and wait for each other; "
                    "give each a CPU of its own with -l or --lcores before --",
                    d->workers[k].lcore, d->workers[i].lcore, cpu);
        if (polls && !d->main_works && cpu >= 0 && cpu == layout_pin(control))
            say(SAY_WARNING,
                "the worker on lcore %u polls on CPU %d, where control runs; give control "
                "another (control_lcore), or set idle = sleep",
                d->workers[i].lcore, cpu);
        if (d->workers[i].n_queues > 1)
            say(SAY_WARNING,
                "lcore %u serves %u queues in turn; give more lcores with -l before --",
                d->workers[i].lcore, d->workers[i].n_queues);
    }
}

void layout_say(const struct daemon *d)
{
    uint32_t i, k;

    for (i = 0; i < d->n_workers; i++) {
        const struct worker *w = &d->workers[i];
        char text[512];
        int len = 0;

        for (k = 0; k < w->n_queues && len < (int)sizeof text - 80; k++)
            len += snprintf(text + len, sizeof text - (size_t)len, "%s%s queue %u",
                            k > 0 ? ", " : "", w->queues[k]->port->cfg->name, w->queues[k]->queue);
        say(SAY_INFO, "worker on lcore %u (CPU %d): %s%s", w->lcore, layout_pin(w->lcore), text,
            w->wakeup.n > 0 ? "; arriving frames wake it" : "");
    }
    if (d->config.daemon.control_lcore != CONFIG_LCORE_ANY)
        say(SAY_INFO, "control runs on lcore %u (CPU %d)", d->config.daemon.control_lcore,
            layout_pin(d->config.daemon.control_lcore));
    else if (d->main_works)
        say(SAY_INFO, "control runs in a thread of its own");
    else
        say(SAY_INFO, "control runs on lcore %u (CPU %d)", rte_get_main_lcore(),
            layout_pin(rte_get_main_lcore()));
    warn_numa(d);
    warn_shared(d);
}
