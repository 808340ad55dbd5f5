/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds connections: by our key in O(1), by the opener's key until the peer uses ours, and by
 * service if they wait.
 *
 * Key: worker | index | random, never 0. Worker and index take as many bits as the port's workers
 * and the host's connections need, and all other bits are random. A stranger that sees no packets
 * guesses a key of n random bits with 2^n packets, whatever it remembers: a key that was missed
 * KEY_MISSES_MAX times is replaced. The peer learns the new one from the next CNTL. The former key
 * counts until the peer has used the new one, and one step of silence longer, for packets that
 * others overtook.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "host/host_internal.h"

static uint64_t key_make(struct host *h, uint32_t index)
{
    uint64_t random;

    do
        random = secret_u64(&h->random) >> (64 - h->key_random_bits);
    while (random == 0);

    return ((uint64_t)h->cfg.worker << h->key_index_bits | index) << h->key_random_bits | random;
}

uint32_t table_key_worker(const struct host *h, uint64_t key)
{
    return (uint32_t)(key >> h->key_random_bits >> h->key_index_bits);
}

/* The place that the key names; NULL: there is no such place, or no connection in it. */
static struct conn *key_place(struct host *h, uint64_t key)
{
    uint64_t index = key >> h->key_random_bits & ((1u << h->key_index_bits) - 1);

    return index < h->cfg.conns && h->conns[index].own_key != 0 ? &h->conns[index] : NULL;
}

/* Zeroes the connection. In `pub`, which other threads read, the epoch changes first, then the rest
 * word by word. Control that sees the new epoch finds the final figures of the connection before
 * (flow_stats.c). */
static void conn_clear(struct conn *c)
{
    const size_t start = offsetof(struct conn, pub), end = start + sizeof c->pub;
    uint64_t epoch = c->pub.epoch + 1;
    uint64_t *word = &c->pub.epoch;

    memset(c, 0, start);
    memset((uint8_t *)c + end, 0, sizeof *c - end);
    __atomic_store_n(&c->pub.epoch, epoch, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 1; i < sizeof c->pub / sizeof *word; i++)
        counter_set(&word[i], 0);
}

static void used_set(struct host *h, uint32_t conn, bool used)
{
    uint64_t *word = &h->conns_bits[conn / 64], bit = 1ull << (conn % 64);

    counter_set(word, used ? *word | bit : *word & ~bit);
}

struct conn *table_new(struct host *h)
{
    struct conn *c = LIST_POP(h, free_list, done_link);

    if (c == NULL) {
        host_count(h, COUNT_conns_full);
        return NULL;
    }
    uint32_t index = c->index;

    conn_clear(c);
    c->index = index;
    counter_add(&h->conns_used, 1);
    used_set(h, index, true);
    c->own_key = key_make(h, index);
    c->service_next = NONE;
    return c;
}

void table_ended(struct host *h, const struct conn *c)
{
    struct ended_ring *r = &h->ended;
    const struct conn_public *p = &c->pub;

    if (p->proven == 0 && p->opener == 0) /* nobody's: its address may be forged */
        return;
    if (r->put - __atomic_load_n(&r->taken, __ATOMIC_ACQUIRE) >= HOST_ENDED_MAX) {
        host_count(h, COUNT_totals_missed);
        return;
    }
    r->ring[r->put % HOST_ENDED_MAX] = (struct ended){
        .conn = c->index,
        .proven = p->proven != 0,
        .failed = p->failed != 0,
        .epoch = p->epoch,
        .peer = c->peer,
        .rx_bytes = p->rx_bytes,
        .tx_bytes = p->tx_bytes,
        .tx_acked_bytes = p->tx_acked_bytes,
    };
    __atomic_store_n(&r->put, r->put + 1, __ATOMIC_RELEASE);
}

void table_free(struct host *h, struct conn *c)
{
    CHECK(c->state == HOST_CLOSED && c->early_key.key == 0);
    wheel_cancel(h->timers, c->index);
    wheel_cancel(h->pacing, c->index);
    table_ended(h, c);
    c->state = HOST_FREE;
    c->own_key = 0;
    counter_set(&c->pub.state, HOST_FREE);
    counter_set(&h->conns_used, h->conns_used - 1);
    used_set(h, c->index, false);
    list_push(h, &h->free_list, c, &c->done_link);
}

/* Does the former key still count? */
static bool former_counts(const struct host *h, const struct conn *c)
{
    return c->former.key != 0 && time_before(h->now, c->former.until);
}

struct conn *table_by_key(struct host *h, uint64_t key)
{
    struct conn *c = key_place(h, key);

    if (c == NULL || (c->own_key != key && (c->former.key != key || !former_counts(h, c))))
        return NULL;
    if (c->own_key == key && c->former.until == TIME_NEVER)
        c->former.until = h->now + h->silence_step_tsc;
    return c;
}

struct conn *table_missed(struct host *h, uint64_t key)
{
    struct conn *c = key_place(h, key);

    if (c == NULL || (c->misses < KEY_MISSES_MAX && ++c->misses < KEY_MISSES_MAX))
        return NULL;
    if (c->state != HOST_OPEN || !c->handshake.proven || former_counts(h, c))
        return NULL;
    c->former = (struct conn_former_key){c->own_key, TIME_NEVER};
    c->own_key = key_make(h, c->index);
    c->misses = 0;
    host_count(h, COUNT_keys_renewed);
    return c;
}

int table_early_add(struct host *h, struct conn *c, const struct conn_early_key *key)
{
    int slot = rte_hash_add_key_data(h->early, key, c);

    if (slot < 0)
        return slot;
    c->early_key = *key;
    return 0;
}

void table_early_remove(struct host *h, struct conn *c)
{
    if (c->early_key.key == 0)
        return;
    rte_hash_del_key(h->early, &c->early_key);
    memset(&c->early_key, 0, sizeof c->early_key);
}

struct conn *table_early_find(struct host *h, const struct conn_early_key *key)
{
    void *c;

    return rte_hash_lookup_data(h->early, key, &c) >= 0 ? c : NULL;
}

struct host_service *table_service(struct host *h, uint16_t number)
{
    for (uint32_t i = 0; i < HOST_SERVICES_MAX; i++)
        if (h->services[i].number == number)
            return &h->services[i];
    return NULL;
}

void table_service_remove(struct host *h, struct conn *c)
{
    struct host_service *s = table_service(h, c->service);
    uint32_t before = NONE;

    CHECK(s != NULL);
    for (uint32_t i = s->head; i != c->index; i = h->conns[i].service_next) {
        CHECK(i != NONE);
        before = i;
    }
    if (before == NONE)
        s->head = c->service_next;
    else
        h->conns[before].service_next = c->service_next;
    if (s->tail == c->index)
        s->tail = before;
    c->service_next = NONE;
    counter_set(&s->waiting, s->waiting - 1);
}
