/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of names. See name_set.h. */
#include "sluice/sync/name_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MIN 1024

static const uint8_t name_set_free[RECORD_HASH_BYTES];

void name_set_fini(struct name_set *s)
{
    free(s->slots);
    digest_destroy(s->digest);
    memset(s, 0, sizeof *s);
}

static void name_set_hash(const struct name_set *s, char kind, const char *name,
                          uint8_t hash[RECORD_HASH_BYTES])
{
    digest_reset(s->digest);
    digest_update(s->digest, &kind, 1);
    digest_update(s->digest, name, strlen(name));
    digest_value(s->digest, hash);
    if (memcmp(hash, name_set_free, sizeof name_set_free) == 0)
        hash[0] = 1;
}

/* The slot of the hash, or the free one that it would get. */
static uint8_t *name_set_slot(const struct name_set *s, const uint8_t hash[RECORD_HASH_BYTES])
{
    size_t i;

    memcpy(&i, hash, sizeof i);
    for (i &= s->size - 1; memcmp(s->slots[i], name_set_free, RECORD_HASH_BYTES) != 0 &&
                           memcmp(s->slots[i], hash, RECORD_HASH_BYTES) != 0;)
        i = (i + 1) & (s->size - 1);
    return s->slots[i];
}

/* Makes the set twice as large. 0 or -ENOMEM. */
static int name_set_grow(struct name_set *s)
{
    struct name_set bigger = {.size = s->size == 0 ? SIZE_MIN : 2 * s->size};
    size_t i;

    bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return -ENOMEM;
    for (i = 0; i < s->size; i++) {
        if (memcmp(s->slots[i], name_set_free, RECORD_HASH_BYTES) != 0)
            memcpy(name_set_slot(&bigger, s->slots[i]), s->slots[i], RECORD_HASH_BYTES);
    }
    free(s->slots);
    s->slots = bigger.slots;
    s->size = bigger.size;
    return 0;
}

int name_set_add(struct name_set *s, char kind, const char *name)
{
    uint8_t hash[RECORD_HASH_BYTES], *slot;

    if (s->digest == NULL)
        s->digest = digest_create();
    if (s->digest == NULL || (2 * s->n >= s->size && name_set_grow(s) < 0))
        return -ENOMEM;
    name_set_hash(s, kind, name, hash);
    slot = name_set_slot(s, hash);
    if (memcmp(slot, hash, sizeof hash) == 0)
        return 0;
    memcpy(slot, hash, sizeof hash);
    s->n++;
    return 1;
}

bool name_set_has(const struct name_set *s, char kind, const char *name)
{
    uint8_t hash[RECORD_HASH_BYTES];

    if (s->n == 0)
        return false;
    name_set_hash(s, kind, name, hash);
    return memcmp(name_set_slot(s, hash), hash, sizeof hash) == 0;
}
