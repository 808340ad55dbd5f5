/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/neighbor.h"

#include <stddef.h>
#include <string.h>

#define KNOWN      (1ull << 63)
#define READ_TRIES 64u

void neighbor_init(struct neighbor_table *t, uint64_t ask_tsc)
{
    *t = (struct neighbor_table){.ask_tsc = ask_tsc, .probe_tsc = TIME_NEVER};
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
    /* each word is released after the odd seq, so a reader that sees a new word also sees that seq,
     * or a later one */
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
            if (n->fixed || (!t->entries[i].fixed && t->entries[i].used_tsc < n->used_tsc))
                n = &t->entries[i];
    }
    *n = (struct neighbor){.addr = *a, .used_tsc = now, .probe_tsc = TIME_NEVER};
    publish(t, n);
    return n;
}

void neighbor_fix(struct neighbor_table *t, const struct addr *a, const struct rte_ether_addr *mac,
                  uint64_t now)
{
    struct neighbor *n = find(t, a);

    if (n == NULL)
        n = make(t, a, now);
    n->mac = *mac;
    n->known = n->fixed = true;
    publish(t, n);
}

bool neighbor_find(struct neighbor_table *t, const struct addr *a, uint64_t now,
                   struct rte_ether_addr *mac, bool *ask)
{
    struct neighbor *n = find(t, a);

    *ask = false;
    if (n == NULL)
        n = make(t, a, now);
    n->used_tsc = now;
    if (n->known && !n->fixed && now - n->learnt_tsc > NEIGHBOR_KEEP_ASKS * t->ask_tsc) {
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

uint16_t neighbor_slot(const struct neighbor_table *t, const struct addr *a)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (addr_equal(&t->entries[i].addr, a))
            return (uint16_t)i;
    return 0;
}

bool neighbor_at(struct neighbor_table *t, uint16_t slot, const struct addr *a, uint64_t now,
                 struct rte_ether_addr *mac)
{
    struct neighbor *n = &t->entries[slot];

    if (!n->known || !addr_equal(&n->addr, a))
        return false;
    n->used_tsc = now;
    *mac = n->mac;
    return true;
}

static void doubt(struct neighbor_table *t, struct neighbor *n, uint64_t at)
{
    if (n->probe_tsc != TIME_NEVER || n->fixed)
        return;
    n->probes = n->known ? 0 : NEIGHBOR_UNICASTS; /* unknown: no MAC address to ask alone */
    n->probe_tsc = at;
    t->probe_tsc = time_min(t->probe_tsc, at);
}

void neighbor_doubt(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, uint64_t now)
{
    struct neighbor *n = find(t, a);
    uint64_t at = now;

    if (n == NULL) {
        n = make(t, a, now);
        n->known = mac != NULL;
        if (n->known) {
            n->mac = *mac;
            n->learnt_tsc = now;
            publish(t, n);
        }
    } else if (n->known && now - n->learnt_tsc < t->ask_tsc / NEIGHBOR_CALM) {
        at = n->learnt_tsc + t->ask_tsc / NEIGHBOR_CALM;
    }
    n->used_tsc = now;
    doubt(t, n, at);
}

static void accept(struct neighbor_table *t, struct neighbor *n, const struct rte_ether_addr *mac,
                   uint64_t now)
{
    n->mac = *mac;
    n->known = true;
    n->lost = n->asks > 1 && now - n->asked_tsc < t->ask_tsc / NEIGHBOR_SOON;
    n->asks = 0;
    n->probe_tsc = TIME_NEVER;
    n->used_tsc = n->learnt_tsc = now;
    publish(t, n);
}

bool neighbor_learn(struct neighbor_table *t, const struct addr *a,
                    const struct rte_ether_addr *mac, enum neighbor_word word, uint64_t now)
{
    struct neighbor *n = find(t, a);

    if (n == NULL) {
        if (word != NEIGHBOR_PROOF)
            return false;
        n = make(t, a, now);
    }
    if (n->fixed) {
        if (rte_is_same_ether_addr(&n->mac, mac)) {
            n->learnt_tsc = now;
            publish(t, n);
        }
        return false;
    }
    bool was_known = n->known, doubted = n->probe_tsc != TIME_NEVER;

    if (!was_known || word == NEIGHBOR_PROOF) {
        accept(t, n, mac, now);
        return !was_known;
    }
    if (rte_is_same_ether_addr(&n->mac, mac)) {
        if (word != NEIGHBOR_CLAIM && doubted)
            accept(t, n, mac, now);
    } else if (word == NEIGHBOR_ANSWER && doubted && n->probes > NEIGHBOR_UNICASTS) {
        accept(t, n, mac, now);
    } else {
        neighbor_doubt(t, a, mac, now);
    }
    return false;
}

/* The next question about a neighbour in doubt; false if all were sent and none was answered. */
static bool ask(const struct neighbor_table *t, struct neighbor *n, uint64_t now,
                struct neighbor_question *q)
{
    uint32_t doubled = n->probes < NEIGHBOR_UNICASTS ? 0 : n->probes - NEIGHBOR_UNICASTS + 1;

    if (n->probes == NEIGHBOR_PROBES)
        return false;
    *q = (struct neighbor_question){n->addr, n->mac, n->probes >= NEIGHBOR_UNICASTS};
    n->probe_tsc = now + (neighbor_quick(t) << doubled);
    n->probes++;
    return true;
}

bool neighbor_ask(struct neighbor_table *t, uint64_t now, struct neighbor_question *q)
{
    uint64_t next = TIME_NEVER;

    if (time_before(now, t->probe_tsc))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        struct neighbor *n = &t->entries[i];

        if (n->probe_tsc != TIME_NEVER && !time_before(now, n->probe_tsc)) {
            if (ask(t, n, now, q))
                return true;
            n->probe_tsc = TIME_NEVER;
            n->known = false;
            publish(t, n);
        }
        next = time_min(next, n->probe_tsc);
    }
    t->probe_tsc = next;
    return false;
}
