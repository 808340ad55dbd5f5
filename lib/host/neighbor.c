/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/neighbor.h"

#include <stddef.h>
#include <string.h>

#define KNOWN      (1ull << 63)
#define READ_TRIES 64u

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

/* Shows the entry to other threads. */
static void publish(struct neighbor_table *t, const struct neighbor *n)
{
    struct neighbor_public *p = &t->shown[n - t->entries];
    uint64_t seq = p->seq, mac = n->known ? KNOWN : 0, addr[2];

    memcpy(addr, n->addr.b, sizeof addr);
    for (uint32_t i = 0; i < RTE_ETHER_ADDR_LEN; i++)
        mac |= (uint64_t)n->mac.addr_bytes[i] << (40 - 8 * i);
    /* each word is released after the odd seq, so who reads a new word sees that seq at least */
    __atomic_store_n(&p->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->addr[0], addr[0], __ATOMIC_RELEASE);
    __atomic_store_n(&p->addr[1], addr[1], __ATOMIC_RELEASE);
    __atomic_store_n(&p->mac, mac, __ATOMIC_RELEASE);
    __atomic_store_n(&p->learnt_tsc, n->learnt_tsc, __ATOMIC_RELEASE);
    __atomic_store_n(&p->seq, seq + 2, __ATOMIC_RELEASE);
}

bool neighbor_read(const struct neighbor_table *t, uint32_t i, struct neighbor *out)
{
    const struct neighbor_public *p = &t->shown[i < NEIGHBOR_MAX ? i : 0];
    uint64_t before = 1, addr[2] = {0, 0}, mac = 0, learnt = 0;

    if (i >= NEIGHBOR_MAX)
        return false;
    for (uint32_t tries = 0; tries < READ_TRIES; tries++) {
        before = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);
        addr[0] = __atomic_load_n(&p->addr[0], __ATOMIC_ACQUIRE);
        addr[1] = __atomic_load_n(&p->addr[1], __ATOMIC_ACQUIRE);
        mac = __atomic_load_n(&p->mac, __ATOMIC_ACQUIRE);
        learnt = __atomic_load_n(&p->learnt_tsc, __ATOMIC_ACQUIRE);
        if ((before & 1) == 0 && __atomic_load_n(&p->seq, __ATOMIC_RELAXED) == before)
            break;
        before = 1;
    }
    if ((before & 1) != 0 || (addr[0] == 0 && addr[1] == 0))
        return false;
    *out = (struct neighbor){.known = (mac & KNOWN) != 0, .learnt_tsc = learnt};
    memcpy(out->addr.b, addr, sizeof addr);
    for (uint32_t k = 0; k < RTE_ETHER_ADDR_LEN; k++)
        out->mac.addr_bytes[k] = (uint8_t)(mac >> (40 - 8 * k));
    return true;
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
    publish(t, n);
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
    if (n->known && now - n->learnt_tsc > NEIGHBOR_KEEP_ASKS * t->ask_tsc) {
        n->known = false;
        publish(t, n);
    }
    if (n->known) {
        *mac = n->mac;
        return true;
    }
    if (n->asked_tsc == 0 ||
        now - n->asked_tsc >= t->ask_tsc >> (NEIGHBOR_DOUBLINGS + 1 - n->asks)) {
        n->asked_tsc = now > 0 ? now : 1;
        n->asks += n->asks <= NEIGHBOR_DOUBLINGS;
        *ask = true;
    }
    return false;
}

bool neighbor_was_lost(struct neighbor_table *t, const struct addr *a, uint64_t now)
{
    const struct neighbor *n = find(t, a);

    return n != NULL && n->lost && now - n->learnt_tsc < t->ask_tsc / NEIGHBOR_SOON;
}

void neighbor_doubt(struct neighbor_table *t, const struct addr *a)
{
    struct neighbor *n = find(t, a);

    if (n != NULL) {
        n->known = false;
        publish(t, n);
    }
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
    n->lost = n->asks > 1 && now - n->asked_tsc < t->ask_tsc / NEIGHBOR_SOON;
    n->asks = 0;
    n->used_tsc = n->learnt_tsc = now;
    publish(t, n);
    return news;
}
