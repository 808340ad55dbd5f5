/* SPDX-License-Identifier: BSD-3-Clause */
/* XXH3-128 of a file's content, computed piece by piece. */
#include "sluice/files/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef XXHASH_DISPATCH
#include <xxh_x86dispatch.h> /* XXH3_*() choose the widest vectors that this CPU has */
#else
#include <xxhash.h>
#endif

struct digest {
    XXH3_state_t *state;
};

struct digest *digest_create(void)
{
    struct digest *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->state = XXH3_createState();
    if (d->state == NULL) {
        free(d);
        return NULL;
    }
    digest_reset(d);
    return d;
}

void digest_destroy(struct digest *d)
{
    if (d == NULL)
        return;
    XXH3_freeState(d->state);
    free(d);
}

void digest_reset(struct digest *d)
{
    XXH3_128bits_reset(d->state);
}

void digest_update(struct digest *d, const void *data, uint64_t len_bytes)
{
    XXH3_128bits_update(d->state, data, len_bytes);
}

void digest_zeros(struct digest *d, uint64_t len_bytes)
{
    static const uint8_t zeros[65536];

    while (len_bytes > 0) {
        uint64_t n = len_bytes < sizeof zeros ? len_bytes : sizeof zeros;

        XXH3_128bits_update(d->state, zeros, n);
        len_bytes -= n;
    }
}

void digest_value(const struct digest *d, uint8_t hash[RECORD_HASH_BYTES])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(d->state));
    memcpy(hash, canonical.digest, RECORD_HASH_BYTES);
}

void digest_hex(char hex[DIGEST_HEX_BYTES], const uint8_t hash[RECORD_HASH_BYTES])
{
    int i;

    for (i = 0; i < RECORD_HASH_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}
