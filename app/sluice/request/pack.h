/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs records into one request. The first header ends at a page border, so that the data of a
 * request with a single DATA record are page-aligned; so the request starts PACK_FIRST bytes into
 * its memory.
 *
 * Invariant: used_bytes <= RECORD_REQUEST_MAX.
 */
#ifndef SLUICE_COMMAND_PACK_H
#define SLUICE_COMMAND_PACK_H

#include <stdint.h>

#include "sluice/files/record.h"

#define PACK_PAGE  4096
#define PACK_FIRST (PACK_PAGE - RECORD_HEADER_BYTES)
#define PACK_BYTES (PACK_PAGE + RECORD_DATA_MAX) /* memory of one request */

struct pack {
    uint8_t *memory; /* of the request; NULL: none yet */
    uint32_t used_bytes;
};

/* Bytes of data that fit after one more header; 0 also if the header itself does not fit. */
uint32_t pack_room(const struct pack *p);
/* Where the data of the next record go. */
uint8_t *pack_data(const struct pack *p);
/* Adds a record with r->len_bytes of data, which are copied from `data`. data NULL: the caller has
 * written them at pack_data(). */
void pack_add(struct pack *p, const struct record *r, const void *data);

#endif
