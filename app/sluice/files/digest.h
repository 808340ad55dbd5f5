/* SPDX-License-Identifier: BSD-3-Clause */
/* XXH3-128 of a file's content, computed piece by piece. Holes count as zeros. */
#ifndef SLUICE_COMMAND_DIGEST_H
#define SLUICE_COMMAND_DIGEST_H

#include <stdint.h>

#include "sluice/files/record.h"

#define DIGEST_HEX_BYTES   (2 * RECORD_HASH_BYTES + 1)
/* Data are hashed and written, or read and hashed, in pieces of this size: the second step finds
 * the piece still in the core's cache. */
#define DIGEST_PIECE_BYTES (128u << 10)

struct digest;

/* NULL: no memory. */
struct digest *digest_create(void);
void digest_destroy(struct digest *d);
void digest_reset(struct digest *d);
void digest_update(struct digest *d, const void *data, uint64_t len_bytes);
void digest_zeros(struct digest *d, uint64_t len_bytes);
/* The hash so far, in canonical (big-endian) bytes, as `xxhsum -H2` prints it. More data may
 * follow. */
void digest_value(const struct digest *d, uint8_t hash[RECORD_HASH_BYTES]);
/* Writes the hash as a string of hex digits. */
void digest_hex(char hex[DIGEST_HEX_BYTES], const uint8_t hash[RECORD_HASH_BYTES]);

#endif
