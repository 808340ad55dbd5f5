/* SPDX-License-Identifier: BSD-3-Clause */
#include "assoc/table.h"

#include <errno.h>

#include <rte_malloc.h>

#include "assoc/number.h"
#include "base/check.h"
#include "crypto/secret.h"

#define NONE UINT32_MAX

int table_init(struct table *t, uint32_t peers_max, uint8_t worker)
{
    CHECK(worker < TABLE_WORKERS_MAX);
    *t = (struct table){
        .slots = assoc_slots(peers_max),
        .peers = assoc_numbers(peers_max),
        .worker = worker,
    };
    t->entries = rte_zmalloc("associations", t->slots * sizeof *t->entries, 64);
    t->current = rte_malloc("associations", t->peers * sizeof *t->current, 64);
    t->clear = rte_malloc("associations", WIRE_UNIT_MAX, 64);
    if (t->entries == NULL || t->current == NULL || t->clear == NULL) {
        table_fini(t);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->peers; i++)
        t->current[i] = NONE;
    return 0;
}

void table_fini(struct table *t)
{
    for (uint32_t i = 0; t->entries != NULL && i < t->slots; i++) {
        aead_destroy(t->entries[i].seal);
        aead_destroy(t->entries[i].open);
    }
    rte_free(t->entries);
    rte_free(t->current);
    if (t->clear != NULL)
        secret_wipe(t->clear, WIRE_UNIT_MAX);
    rte_free(t->clear);
    *t = (struct table){0};
}

void table_install(struct table *t, const struct assoc_keys *k, struct aead *seal,
                   struct aead *open, struct table_firsts *firsts, uint64_t now_ns)
{
    CHECK(k->slot < t->slots && k->peer < t->peers && t->entries[k->slot].number == 0);
    t->entries[k->slot] = (struct table_entry){
        .number = k->number,
        .remote = k->remote,
        .peer = k->peer,
        .outgoing = k->outgoing,
        .born_ns = now_ns,
        .heard_ns = now_ns,
        .seal = seal,
        .open = open,
        .firsts = firsts,
    };
    if (k->outgoing)
        t->current[k->peer] = k->slot;
}

void table_remove(struct table *t, uint32_t slot, struct aead **seal, struct aead **open)
{
    CHECK(slot < t->slots);
    struct table_entry *e = &t->entries[slot];

    *seal = e->seal;
    *open = e->open;
    if (e->number != 0 && t->current[e->peer] == slot)
        t->current[e->peer] = NONE;
    *e = (struct table_entry){0};
}

struct table_entry *table_find(struct table *t, uint32_t number)
{
    struct table_entry *e = &t->entries[number % t->slots];

    return number != 0 && e->number == number ? e : NULL;
}

/* The entry, if it may be sent under; it may be NULL. */
static struct table_entry *young(struct table_entry *e, uint64_t now_ns)
{
    return e != NULL && now_ns - e->born_ns < ASSOC_REJECT_NS ? e : NULL;
}

struct table_entry *table_young(struct table *t, uint32_t number, uint64_t now_ns)
{
    return young(table_find(t, number), now_ns);
}

struct table_entry *table_current(struct table *t, uint32_t peer, uint64_t now_ns)
{
    uint32_t slot = peer < t->peers ? t->current[peer] : NONE;

    return young(slot != NONE ? &t->entries[slot] : NULL, now_ns);
}

/* The word once this count has come; the same word if the count is not new. */
static uint64_t firsts_add(uint64_t word, uint64_t count)
{
    const uint64_t bits = (1ull << FIRSTS_SEEN) - 1;
    uint64_t newest = word >> FIRSTS_SEEN, seen = word & bits;

    if (count > newest) {
        uint64_t ahead = count - newest;

        return count << FIRSTS_SEEN | ((ahead < FIRSTS_SEEN ? seen << ahead : 0) & bits) | 1;
    }
    return newest - count < FIRSTS_SEEN ? word | 1ull << (newest - count) : word;
}

bool table_first_new(struct table_entry *e, uint64_t number)
{
    uint64_t count = number_count(number), was, is;

    if (!number_is_first(number) || number_worker(number) >= TABLE_WORKERS_MAX || count == 0 ||
        count >> (64 - FIRSTS_SEEN) != 0)
        return false;
    uint64_t *word = &e->firsts->words[number_worker(number)];

    was = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        is = firsts_add(was, count);
        if (is == was)
            return false;
    } while (
        !__atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}
