/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seals and opens packets under an association (assoc/table.h). Everything here works on the bytes
 * of one packet; the caller has found the association and checked lengths.
 */
#ifndef SLUICE_ASSOC_SEAL_H
#define SLUICE_ASSOC_SEAL_H

#include <rte_mbuf.h>

#include "assoc/table.h"
#include "wire/packet.h"

/* Where a packet comes from and goes to. */
struct seal_path {
    const struct addr *src, *dst;
    uint16_t sport, dport;
};

/*
 * Seals a FIRST or CNTL of len bytes at p, whose header names the association (e->remote), and
 * writes the trailer behind it. Returns the new length.
 */
uint32_t seal_state(struct table *t, struct table_entry *e, const struct seal_path *path,
                    uint8_t *p, uint32_t len);
/* Is this FIRST or CNTL, of len bytes without its trailer, as it was sealed? p is not changed. */
bool seal_state_right(struct table_entry *e, const struct seal_path *path, const uint8_t *p,
                      uint32_t len);

/*
 * Seals a DATA packet in three steps: seal_data() with its header, WIRE_DATA_BYTES, which names the
 * association; then seal_data_bytes() for all of its payload, in order; then seal_data_end() writes
 * the trailer.
 */
void seal_data(struct table *t, struct table_entry *e, const uint8_t *header);
void seal_data_bytes(struct table_entry *e, uint8_t *to, const uint8_t *from, uint32_t len);
void seal_data_end(struct table *t, struct table_entry *e, uint8_t *trailer);

/*
 * Opens a DATA packet that starts at offset `off` of m, with `payload_len` bytes behind its header,
 * and the trailer behind those. header: a copy of its header, the one that the caller believes.
 * Returns the payload in the clear, in t->clear, until the next call. NULL: the packet was changed.
 * m is only read: it may be memory that another core has just written, and will write again.
 */
const uint8_t *seal_data_open(struct table *t, struct table_entry *e,
                              const uint8_t header[WIRE_DATA_BYTES], const struct rte_mbuf *m,
                              uint32_t off, uint32_t payload_len);

#endif
