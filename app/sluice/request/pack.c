/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs records into one request. */
#include "sluice/request/pack.h"

#include <string.h>

uint32_t pack_room(const struct pack *p)
{
    uint32_t left = RECORD_REQUEST_MAX - p->used_bytes;

    return left < RECORD_HEADER_BYTES ? 0 : left - RECORD_HEADER_BYTES;
}

uint8_t *pack_data(const struct pack *p)
{
    return p->memory + PACK_FIRST + p->used_bytes + RECORD_HEADER_BYTES;
}

void pack_add(struct pack *p, const struct record *r, const void *data)
{
    if (data != NULL)
        memcpy(pack_data(p), data, r->len_bytes);
    record_encode(p->memory + PACK_FIRST + p->used_bytes, r);
    p->used_bytes += RECORD_HEADER_BYTES + r->len_bytes;
}
