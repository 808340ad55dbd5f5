/* SPDX-License-Identifier: BSD-3-Clause */
/* What the receiver has told of one of its files. See block_list.h. */
#include "sluice/delta/block_list.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "sluice/delta/rolling.h"

#define BITS_FIRST 7
#define TWINS_MAX  16 /* blocks of one weak sum that are looked at; more are not kept */

static uint32_t list_slot(const struct block_list *l, uint64_t weak)
{
    return (uint32_t)(weak * l->key >> (64 - l->bits));
}

/* Puts block number i, from 0, into the table. */
static void list_index(struct block_list *l, uint32_t i)
{
    const struct block *b = &l->blocks[i], *other;
    uint32_t mask = (1u << l->bits) - 1, at = list_slot(l, b->weak), twins = 0;
    uint64_t bit = b->weak * l->key >> (64 - l->bits - BLOCK_LIST_FILTER_MORE);

    for (; l->table[at] != 0; at = (at + 1) & mask) {
        other = &l->blocks[l->table[at] - 1];
        if (other->weak != b->weak)
            continue;
        if (other->strong == b->strong || ++twins == TWINS_MAX)
            return; /* of equal blocks the first one counts */
    }
    l->table[at] = i + 1;
    l->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Makes room for more blocks: a table of at least twice as many places. False: no memory. */
static bool list_grow(struct block_list *l, uint32_t more)
{
    uint32_t bits = l->bits > 0 ? l->bits : BITS_FIRST, i;
    struct block *blocks;
    uint8_t *filter;
    uint32_t *table;

    while (1u << (bits - 1) < l->n + more)
        bits++;
    if (bits == l->bits)
        return true;
    if (l->key == 0 && getrandom(&l->key, sizeof l->key, 0) != sizeof l->key)
        return false;
    l->key |= 1;
    table = calloc(1u << bits, sizeof *table);
    filter = calloc(1u << (bits + BLOCK_LIST_FILTER_MORE - 3), 1);
    blocks = table != NULL && filter != NULL
                 ? realloc(l->blocks, (1u << (bits - 1)) * sizeof *blocks)
                 : NULL;
    if (blocks == NULL) {
        free(table);
        free(filter);
        return false;
    }
    free(l->table);
    free(l->filter);
    l->blocks = blocks;
    l->table = table;
    l->filter = filter;
    l->bits = bits;
    for (i = 0; i < l->n; i++)
        list_index(l, i);
    return true;
}

const char *block_list_add(struct block_list *l, const struct record *r, const uint8_t *data)
{
    uint32_t i, n = r->len_bytes / RECORD_BLOCK_BYTES;

    if (l->whole)
        return "blocks behind the last ones";
    if (l->block != 0 && (l->block != r->size || l->seed != r->from))
        return "blocks of two kinds";
    if (l->n > 0 && r->offset < l->blocks[l->n - 1].from + l->block)
        return "blocks out of order";
    if (n > RECORD_LIST_MAX - l->n || r->offset > (uint64_t)INT64_MAX - n * r->size)
        return "too many blocks";
    l->block = (uint32_t)r->size;
    l->seed = r->from;
    l->whole = (r->flags & RECORD_LAST) != 0;
    if (n == 0 || !list_grow(l, n))
        return NULL;
    for (i = 0; i < n; i++, data += RECORD_BLOCK_BYTES) {
        l->blocks[l->n] = (struct block){
            .weak = (uint64_t)data[0] << 32 | bytes_get_u32(data + 1),
            .strong = (uint64_t)bytes_get_u16(data + 5) << 32 | bytes_get_u32(data + 7),
            .from = r->offset + (uint64_t)i * l->block,
        };
        list_index(l, l->n++);
    }
    return NULL;
}

const struct block *block_list_find(const struct block_list *l, uint64_t weak, const uint8_t *data,
                                    bool *hashed)
{
    uint32_t at = list_slot(l, weak), mask = (1u << l->bits) - 1;
    uint64_t strong = 0;

    *hashed = false;
    for (; l->table[at] != 0; at = (at + 1) & mask) {
        const struct block *b = &l->blocks[l->table[at] - 1];

        if (b->weak != weak)
            continue;
        if (!*hashed)
            strong = rolling_strong(data, l->block, l->seed);
        *hashed = true;
        if (b->strong == strong)
            return b;
    }
    return NULL;
}

const struct block *block_list_at(const struct block_list *l, uint64_t from)
{
    uint32_t low = 0, high = l->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->blocks[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->blocks[low].from == from ? &l->blocks[low] : NULL;
}

void block_list_free(struct block_list *l)
{
    free(l->blocks);
    free(l->table);
    free(l->filter);
    *l = (struct block_list){0};
}
