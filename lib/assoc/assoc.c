/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers, and the slots of their associations. exchange.c has the handshakes. */
#include "assoc/assoc.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "assoc/assoc_internal.h"
#include "base/check.h"
#include "crypto/secret.h"

uint32_t assoc_numbers(uint32_t peers_max)
{
    return 2 * peers_max;
}

uint32_t assoc_slots(uint32_t peers_max)
{
    return assoc_numbers(peers_max) * PEER_SLOTS;
}

struct assoc *assoc_create(const struct assoc_config *cfg)
{
    CHECK(cfg->peers_max >= 1 && cfg->peers_max <= ASSOC_PEERS_MAX);
    CHECK(cfg->ciphers & 1u << cfg->cipher);

    uint32_t entries = assoc_numbers(cfg->peers_max);
    struct assoc *a = rte_zmalloc("assoc", sizeof *a, 0);
    struct peer *peers = rte_zmalloc("assoc", entries * sizeof *peers, 0);

    if (a == NULL || peers == NULL) {
        rte_free(a);
        rte_free(peers);
        return NULL;
    }
    a->cfg = *cfg;
    a->peers = peers;
    a->entries = entries;
    drbg_init(&a->random, cfg->seed);
    return a;
}

void assoc_destroy(struct assoc *a)
{
    if (a == NULL)
        return;
    secret_wipe(a->peers, a->entries * sizeof *a->peers);
    rte_free(a->peers);
    secret_wipe(a, sizeof *a);
    rte_free(a);
}

/* ---- slots ------------------------------------------------------------------------------ */

uint32_t slot_index(const struct assoc *a, const struct peer *p, uint32_t slot)
{
    return (uint32_t)(p - a->peers) * PEER_SLOTS + slot;
}

uint32_t slot_new(struct assoc *a, struct peer *p, uint64_t now)
{
    uint32_t slots = a->entries * PEER_SLOTS, random;

    for (uint32_t i = 0; i < PEER_SLOTS; i++) {
        if (p->slots[i].use != SLOT_FREE)
            continue;
        /* the remainder is the slot, so that a worker finds it without a search */
        do {
            drbg_bytes(&a->random, &random, sizeof random);
            random = random / slots * slots;
        } while (random > UINT32_MAX - slots || random == 0);
        p->slots[i] = (struct slot){SLOT_USED, random + slot_index(a, p, i), now};
        return i;
    }
    COUNT(a, drop_full);
    return NONE;
}

static void role_clear(struct peer *p, enum role role)
{
    if (p->slot_of[role] != NONE)
        p->slots[p->slot_of[role]].use = SLOT_OVER;
    p->slot_of[role] = NONE;
}

void slot_install(struct peer *p, enum role role, uint32_t slot, uint64_t now)
{
    if (role == OUT_CURRENT) {
        role_clear(p, OUT_PREVIOUS);
        p->slot_of[OUT_PREVIOUS] = p->slot_of[OUT_CURRENT];
    } else {
        role_clear(p, role);
    }
    p->slot_of[role] = slot;
    p->slots[slot].born_ns = now;
}

void slot_drop(struct peer *p, uint32_t slot)
{
    p->slots[slot].use = SLOT_FREE;
}

void attempt_drop(struct peer *p)
{
    if (p->attempt.number != 0)
        slot_drop(p, p->attempt.slot);
    secret_wipe(&p->attempt, sizeof p->attempt);
}

/* The slot with this index among those of all peers. */
static struct slot *slot_at(struct assoc *a, uint32_t index, struct peer **p)
{
    CHECK(index < a->entries * PEER_SLOTS);
    *p = &a->peers[index / PEER_SLOTS];
    return &(*p)->slots[index % PEER_SLOTS];
}

void assoc_confirm(struct assoc *a, uint32_t slot, uint32_t number, uint64_t now)
{
    struct peer *p;
    struct slot *s = slot_at(a, slot, &p);
    enum role role = p->slot_of[IN_REWOUND] == slot % PEER_SLOTS ? IN_REWOUND : IN_PENDING;

    if (s->use != SLOT_USED || s->number != number || p->slot_of[role] != slot % PEER_SLOTS)
        return;
    role_clear(p, IN_PREVIOUS);
    p->slot_of[IN_PREVIOUS] = p->slot_of[IN_CURRENT];
    p->slot_of[IN_CURRENT] = p->slot_of[role];
    p->slot_of[role] = NONE;
    p->state.answered_at = now;
    if (role == IN_REWOUND)
        p->time_ns = p->rewound.time_ns;
}

/* What is too old is over. */
static void peer_expire(struct peer *p, uint64_t now)
{
    for (uint32_t role = 0; role < ROLES; role++)
        if (p->slot_of[role] != NONE && role_age_ns(p, (enum role)role, now) >= ASSOC_KEEP_NS)
            role_clear(p, (enum role)role);
    if (p->attempt.number != 0 && !attempt_lives(&p->attempt, now))
        attempt_drop(p);
}

bool assoc_over(struct assoc *a, uint64_t now, uint32_t *slot)
{
    uint32_t slots = a->entries * PEER_SLOTS;

    for (uint32_t i = 0; i < a->entries; i++)
        if (a->peers[i].used)
            peer_expire(&a->peers[i], now);
    for (uint32_t i = 0; i < slots; i++) {
        struct peer *p;
        struct slot *s = slot_at(a, (a->look + i) % slots, &p);

        if (s->use == SLOT_OVER) {
            s->use = SLOT_LEAVING;
            *slot = a->look = (a->look + i) % slots;
            return true;
        }
    }
    return false;
}

void assoc_freed(struct assoc *a, uint32_t slot)
{
    struct peer *p;
    struct slot *s = slot_at(a, slot, &p);

    CHECK(s->use == SLOT_LEAVING);
    s->use = SLOT_FREE;
}

/* ---- peers ------------------------------------------------------------------------------ */

static bool peer_busy(const struct peer *p)
{
    bool busy = false;

    for (uint32_t i = 0; i < PEER_SLOTS; i++)
        busy = busy || p->slots[i].use != SLOT_FREE;
    return busy;
}

/* The peer is no longer configured: its associations are over, and its keys are wiped. */
static void peer_remove(struct peer *p)
{
    for (uint32_t role = 0; role < ROLES; role++)
        role_clear(p, (enum role)role);
    attempt_drop(p);
    secret_wipe(&p->cfg, sizeof p->cfg);
    p->used = false;
}

static void peer_add(struct peer *p, const struct assoc_peer *cfg)
{
    *p = (struct peer){.used = true, .cfg = *cfg};
    for (uint32_t role = 0; role < ROLES; role++)
        p->slot_of[role] = NONE;
}

static bool peer_same(const struct assoc_peer *a, const struct assoc_peer *b)
{
    return memcmp(a->public_key, b->public_key, DH_BYTES) == 0 &&
           secret_equal(a->shared_key, b->shared_key, NOISE_KEY_BYTES) &&
           memcmp(a->address, b->address, sizeof a->address) == 0 &&
           memcmp(a->prefix_len, b->prefix_len, sizeof a->prefix_len) == 0;
}

static bool keys_differ(const struct assoc *a, const struct assoc_peer *peers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (memcmp(peers[i].public_key, a->cfg.self.public_key, DH_BYTES) == 0)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (memcmp(peers[i].public_key, peers[j].public_key, DH_BYTES) == 0)
                return false;
    }
    return true;
}

/* The entry of a configured peer; NULL: it is a new one. */
static struct peer *peer_find(struct assoc *a, const struct assoc_peer *cfg)
{
    for (uint32_t i = 0; i < a->entries; i++)
        if (a->peers[i].used && peer_same(&a->peers[i].cfg, cfg))
            return &a->peers[i];
    return NULL;
}

/* How many new peers there is room for, beside those there are. */
static uint32_t room_count(const struct assoc *a)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < a->entries; i++)
        room += !a->peers[i].used && !peer_busy(&a->peers[i]);
    return room;
}

static void peers_remove(struct assoc *a, const struct assoc_peer *peers, uint32_t n)
{
    for (uint32_t i = 0; i < a->entries; i++) {
        bool stays = false;

        for (uint32_t j = 0; j < n; j++)
            stays = stays || peer_same(&a->peers[i].cfg, &peers[j]);
        if (a->peers[i].used && !stays)
            peer_remove(&a->peers[i]);
    }
}

int assoc_set_peers(struct assoc *a, const struct assoc_peer *peers, uint32_t n, uint32_t *number)
{
    uint32_t fresh = 0;

    CHECK(n <= a->cfg.peers_max);
    if (!keys_differ(a, peers, n))
        return -EEXIST;
    for (uint32_t i = 0; i < n; i++)
        fresh += peer_find(a, &peers[i]) == NULL;
    if (fresh > room_count(a))
        return -EBUSY;
    for (uint32_t i = 0; i < n; i++) {
        struct peer *p = peer_find(a, &peers[i]);

        for (uint32_t j = 0; p == NULL; j++)
            if (!a->peers[j].used && !peer_busy(&a->peers[j]))
                p = &a->peers[j];
        if (!p->used)
            peer_add(p, &peers[i]);
        a->order[i] = number[i] = (uint32_t)(p - a->peers);
    }
    peers_remove(a, peers, n); /* last, so that no new peer gets the number of one that goes */
    a->n = n;
    return 0;
}

bool peer_at(const struct peer *p, const struct addr *address)
{
    return assoc_peer_at(p->cfg.address, p->cfg.prefix_len, address);
}

uint32_t assoc_peer_of(const struct assoc *a, const struct addr *address)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (peer_at(&a->peers[a->order[i]], address))
            return a->order[i];
    return ASSOC_PEER_NONE;
}

const struct assoc_counters *assoc_counters(const struct assoc *a)
{
    return &a->count;
}

void assoc_state(const struct assoc *a, uint32_t peer, struct assoc_state *out)
{
    const struct peer *p = &a->peers[peer];

    *out = p->state;
    out->outgoing = (p->slot_of[OUT_CURRENT] != NONE) + (p->slot_of[OUT_PREVIOUS] != NONE);
    out->incoming = (p->slot_of[IN_CURRENT] != NONE) + (p->slot_of[IN_PREVIOUS] != NONE);
}
