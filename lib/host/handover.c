/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker of the port a packet belongs to, if not the one that received it.
 *
 * Once the peer knows our key, the key names the worker. Before, its packets are marked EARLY. If
 * the worker that received a FIRST has no connection waiting for the service, the FIRST goes to one
 * that has. So an application that accepts on one worker is reached by every peer. What follows the
 * FIRST goes to the same worker: the receiving worker remembers the newest ones that it handed
 * over, in sets of HANDOVER_SET_SIZE, of which the oldest is forgotten. A connection that was
 * forgotten loses early data, which are repeated once the peer knows the key, and its FIRST is
 * handled as a new one.
 *
 * Workers read from each other which services are open and how many connections wait; each writes
 * its own (base/counter.h). These figures may be old when the FIRST arrives. A worker that then has
 * no connection waiting hands it on in the same way, or drops it, and the peer repeats it.
 */
#include <string.h>

#include "host/host_internal.h"

static uint64_t key_hash(const struct host *h, const struct conn_early_key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)];

    memcpy(words, key, sizeof words);
    return secret_hash(&h->cookies, words, RTE_DIM(words));
}

/* The entry of a FIRST with this key; NULL: none is remembered. */
static const struct handover *handover_find(const struct host *h, const struct conn_early_key *key)
{
    const struct handover *set = h->handovers[key_hash(h, key) % HANDOVER_SETS];

    for (uint32_t i = 0; i < HANDOVER_SET_SIZE; i++)
        if (set[i].key.key != 0 && memcmp(&set[i].key, key, sizeof *key) == 0)
            return &set[i];
    return NULL;
}

static void handover_remember(struct host *h, const struct conn_early_key *key, uint8_t worker)
{
    struct handover *set = h->handovers[key_hash(h, key) % HANDOVER_SETS], *oldest = &set[0];

    for (uint32_t i = 0; i < HANDOVER_SET_SIZE; i++) {
        if (set[i].key.key != 0 && memcmp(&set[i].key, key, sizeof *key) == 0) {
            oldest = &set[i];
            break;
        }
        if (set[i].at < oldest->at)
            oldest = &set[i];
    }
    *oldest = (struct handover){*key, h->now, worker};
}

static bool service_waits(const struct host *h, uint16_t service)
{
    for (uint32_t i = 0; i < HOST_SERVICES_MAX; i++)
        if (counter_get(&h->services[i].number) == service)
            return counter_get(&h->services[i].waiting) > 0;
    return false;
}

/* Another worker that has a connection waiting for the service; our own if there is none. For one
 * key, the result is the same worker as long as the same workers have connections waiting. */
static uint8_t service_elsewhere(const struct host *h, uint16_t service,
                                 const struct conn_early_key *key)
{
    uint32_t start = (uint32_t)(key_hash(h, key) / HANDOVER_SETS % h->cfg.workers);

    for (uint32_t i = 0; i < h->cfg.workers; i++) {
        const struct host *other = h->workers[(start + i) % h->cfg.workers];

        if (other != NULL && other != h && service_waits(other, service))
            return other->cfg.worker;
    }
    return h->cfg.worker;
}

uint8_t handover_worker(const struct host *h, const struct frame *f, const struct wire_header *w)
{
    const struct handover *e;

    if (h->given || h->cfg.workers == 1 || w->type == WIRE_FIRST)
        return h->cfg.worker;
    if (!(w->flags & WIRE_EARLY)) {
        uint32_t worker = table_key_worker(h, w->key);

        return worker < h->cfg.workers ? (uint8_t)worker : h->cfg.worker;
    }
    e = handover_find(h, &(struct conn_early_key){f->src, w->key, f->sport});
    return e != NULL ? e->worker : h->cfg.worker;
}

uint8_t handover_first(struct host *h, const struct frame *f, const struct wire_first *v)
{
    const struct conn_early_key key = {f->src, v->h.key, f->sport};
    uint8_t worker = h->cfg.worker;

    if (h->cfg.workers == 1 || table_early_find(h, &key) != NULL)
        return worker;
    const struct handover *e = handover_find(h, &key);

    if (!h->given && e != NULL && e->worker != worker)
        return e->worker; /* that worker may have accepted this FIRST, and then answers it again */
    const struct host_service *s = table_service(h, v->service);

    if (s != NULL && s->head == NONE)
        worker = service_elsewhere(h, v->service, &key);
    if (worker != h->cfg.worker || e != NULL)
        handover_remember(h, &key, worker);
    return worker;
}

void host_join(struct host *const *hosts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(hosts[i]->workers, hosts, n * sizeof hosts[0]);
}
