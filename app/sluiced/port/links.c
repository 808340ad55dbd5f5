/* SPDX-License-Identifier: BSD-3-Clause */
/* See links.h. */
#include "sluiced/port/links.h"

#include <stdio.h>
#include <string.h>

#include "base/counter.h"
#include "common/say.h"

#define WATCH_MS         100
#define RESTART_DOWN_MS  1000 /* restart a port that is down for this long */
#define RESTART_TRY_MS   3000 /* time for a started port to come up */
#define RESTART_AGAIN_MS 500  /* pause after a failed start */
#define PASS_MS          10   /* for a worker to let go of its port; if not, retry at next look */
#define CONFLICT_MS      60000

static uint64_t cycles(const struct links *k, uint64_t ms)
{
    return k->d->hz / 1000 * ms;
}

void links_init(struct links *k, struct daemon *d, uint64_t now)
{
    uint32_t i;

    memset(k, 0, sizeof *k);
    k->d = d;
    k->watch_due = now;
    for (i = 0; i < d->n_ports; i++)
        k->restart_due[i] =
            now + cycles(k, d->ports[i].started ? RESTART_TRY_MS : RESTART_AGAIN_MS);
}

/* Gives a port to its workers, or takes it away; worker_pass() tells when they have noticed. */
static void queues_set_active(struct links *k, uint32_t index, bool active)
{
    uint32_t first = k->d->first_queue[index];

    for (uint32_t i = first; i < first + k->d->ports[index].queues; i++)
        port_queue_set_active(&k->d->queues[i], active);
    k->taken[index] = !active;
}

/*
 * Takes the port away from its workers, restarts it, and gives it back. False: a worker lost its
 * core and may be in the middle of a burst on the port. Stopping the port would free its rings, so
 * the port is not stopped, and stays taken until the next look.
 */
static bool restart_port(struct links *k, uint32_t index)
{
    struct daemon *d = k->d;
    uint32_t first = d->first_queue[index], last = first + d->ports[index].queues, i;

    queues_set_active(k, index, false);
    for (i = first; i < last; i++) {
        if (!worker_pass(d->queue_worker[i], PASS_MS))
            return false;
    }
    if (port_restart(&d->ports[index]))
        queues_set_active(k, index, true);
    return true;
}

/* The driver cleans up after a lost peer, and shakes hands with a new one, on a thread of DPDK's
 * that must not be disturbed. The delays of RESTART_* leave time for both. */
static void watch_restart(struct links *k, uint32_t index, uint64_t now)
{
    struct port *p = &k->d->ports[index];
    bool started = p->started;

    if (!port_needs_restart(p)) {
        if (k->taken[index]) /* the link came up by itself before a restart could begin */
            queues_set_active(k, index, true);
        k->restart_due[index] = now + cycles(k, RESTART_DOWN_MS);
        k->tries[index] = 0;
    } else if (now >= k->restart_due[index] && restart_port(k, index)) {
        if (started && ++k->tries[index] == 2)
            say_port(SAY_ERROR, p->cfg->name,
                     "its memif server refuses the connection; are workers, id and secret the "
                     "same at both ends?");
        k->restart_due[index] = now + cycles(k, p->started ? RESTART_TRY_MS : RESTART_AGAIN_MS);
    }
}

/* Warns of a queue that only drops frames although the link is up: the other end of a memif has
 * fewer queues, or sleeps. */
static void watch_queue(struct links *k, const struct port_queue *q, bool up)
{
    uint64_t sent = counter_get(&q->counters.tx_frames);
    uint64_t dropped = counter_get(&q->counters.tx_dropped);
    bool *stuck = &k->d->stuck[q->number];

    if (up && !*stuck && sent == k->sent[q->number] && dropped != k->dropped[q->number]) {
        say_port(SAY_WARNING, q->port->cfg->name,
                 "the other end takes no frames of queue %u; is it stopped, or does it have "
                 "fewer workers?",
                 q->queue);
        *stuck = true;
    } else if (sent != k->sent[q->number] || !up) {
        *stuck = false;
    }
    k->sent[q->number] = sent;
    k->dropped[q->number] = dropped;
}

/* Asks the first worker's host about address i: it hears whatever the other workers' hosts hear. */
static void watch_address(struct links *k, uint32_t index, uint32_t i, uint64_t now)
{
    const char *name = k->d->ports[index].cfg->name;
    char address[ADDR_TEXT_MAX], mac[18];
    struct host_address a;
    const uint8_t *b = a.other.addr_bytes;

    if (!host_address(k->d->hosts[k->d->first_queue[index]], i, &a))
        return;
    addr_format(&a.address, address);
    snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    if (!a.used && !k->unused[index][i]) {
        say_port(SAY_WARNING, name,
                 "%s is not used: the station at %s has this address, too; give one of them "
                 "another (sluice show ports)",
                 address, mac);
    } else if (a.used && k->unused[index][i]) {
        say_port(SAY_NOTICE, name, "%s is used from now on: no other station has it any more",
                 address);
    } else if (a.used && a.conflicts != k->conflicts[index][i] && now >= k->conflict_due[index]) {
        say_port(SAY_WARNING, name,
                 "the station at %s uses %s, too, which is this port's address: connections "
                 "may fail; give one of them another",
                 mac, address);
        k->conflict_due[index] = now + cycles(k, CONFLICT_MS);
    }
    k->unused[index][i] = !a.used;
    k->conflicts[index][i] = a.conflicts;
}

static void claim(struct links *k, uint32_t index)
{
    uint32_t first = k->d->first_queue[index];

    for (uint32_t i = 0; i < k->d->ports[index].queues; i++)
        host_claim(k->d->hosts[first + i]);
}

static void watch_port(struct links *k, uint32_t index, uint64_t now)
{
    const struct port *p = &k->d->ports[index];
    bool up = port_link_up(p);
    uint16_t q;

    host_control_set_link(k->d->controls[index], up ? port_link_Bps(p) : 0);
    if (up != k->up[index])
        say_port(SAY_NOTICE, p->cfg->name, "link %s", up ? "up" : "down");
    for (q = 0; q < p->queues; q++)
        watch_queue(k, &k->d->queues[k->d->first_queue[index] + q], up && k->up[index]);
    if (up && !k->up[index])
        claim(k, index);
    for (uint32_t i = 0; i < 2; i++)
        watch_address(k, index, i, now);
    k->up[index] = up;
    watch_restart(k, index, now);
}

void links_watch(struct links *k, uint64_t now)
{
    uint32_t i;

    if (now < k->watch_due)
        return;
    k->watch_due = now + cycles(k, WATCH_MS);
    for (i = 0; i < k->d->n_ports; i++)
        watch_port(k, i, now);
}
