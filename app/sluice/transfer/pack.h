/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records being put into one request. The first header ends at a page border, so that the data of a
 * request with a single DATA record is page-aligned; the request starts PACK_FIRST bytes into its
 * memory.
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
    uint8_t *memory; /* NULL: none at hand */
    uint32_t used_bytes;
};

/* Room for data behind one more header; 0 if there is not even room for that. */
uint32_t pack_room(const struct pack *p);
/* Where the data of the next record go. */
uint8_t *pack_data(const struct pack *p);
/* Adds a record whose r->len_bytes of data lie at pack_data() or, if not NULL, at data. */
void pack_add(struct pack *p, const struct record *r, const void *data);

#endif
