/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/neighbor.h"

#include <stddef.h>

void neighbor_init(struct neighbor_table *t, uint64_t ask_tsc)
{
    *t = (struct neighbor_table){.ask_tsc = ask_tsc};
}

static struct neighbor *find(struct neighbor_table *t, const struct addr *a)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (addr_equal(&t->entries[i].addr, a))
            return &t->entries[i];
    return NULL;
}

/* A free entry, or the one unused for longest. */
static struct neighbor *make(struct neighbor_table *t, const struct addr *a, uint64_t now)
{
    struct neighbor *n = &t->entries[0];

    if (t->count < NEIGHBOR_MAX) {
        n = &t->entries[t->count++];
    } else {
        for (uint32_t i = 1; i < t->count; i++)
            if (t->entries[i].used_tsc < n->used_tsc)
                n = &t->entries[i];
    }
    *n = (struct neighbor){.addr = *a, .used_tsc = now};
    return n;
}

bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask)
{
    struct neighbor *n = find(t, a);

    *ask = false;
    if (n == NULL)
        n = make(t, a, now);
    n->used_tsc = now;
    if (n->known && now - n->learnt_tsc > NEIGHBOR_KEEP_ASKS * t->ask_tsc)
        n->known = false;
    if (n->known) {
        *mac = n->mac;
        return true;
    }
    if (n->asked_tsc == 0 || now - n->asked_tsc >= t->ask_tsc) {
        n->asked_tsc = now > 0 ? now : 1;
        *ask = true;
    }
    return false;
}

void neighbor_doubt(struct neighbor_table *t, const struct addr *a)
{
    struct neighbor *n = find(t, a);

    if (n != NULL)
        n->known = false;
}

bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, bool create, uint64_t now)
{
    struct neighbor *n = find(t, a);

    if (n == NULL) {
        if (!create)
            return false;
        n = make(t, a, now);
    }
    bool news = !n->known;

    n->mac = *mac;
    n->known = true;
    n->used_tsc = n->learnt_tsc = now;
    return news;
}
