/* SPDX-License-Identifier: BSD-3-Clause */
#include "assoc/seal.h"

#include <string.h>

#include <rte_prefetch.h>

#include "assoc/number.h"
#include "base/bytes.h"
#include "base/check.h"
#include "wire/assoc.h"

/* A cipher reads memory that no cache has. In pieces of this length, each asked for while the one
 * before is worked on, it does so at 57 to 68 Gb/s; without, at 50 to 57 (AES-128-GCM by
 * libipsec-mb). */
#define PIECE_BYTES 2048u
#define PATH_BYTES  36u /* two addresses, two ports */
#define TAG_OFF     8u  /* in the trailer */
#define HOP_OFF     160u
#define HOP_BYTES   16u /* of CNTL, which routers may write */

_Static_assert(WIRE_TAG_BYTES == AEAD_TAG_BYTES && TAG_OFF + AEAD_TAG_BYTES == WIRE_TRAILER_BYTES,
               "the trailer ends with a tag");

/* 4 bytes of 0, then the packet's number as in the trailer. */
static void nonce_make(const uint8_t *trailer, uint8_t nonce[AEAD_NONCE_BYTES])
{
    memset(nonce, 0, AEAD_NONCE_BYTES - TAG_OFF);
    memcpy(nonce + AEAD_NONCE_BYTES - TAG_OFF, trailer, TAG_OFF);
}

/* What the tag of a FIRST or CNTL covers. Returns its length. */
static uint32_t covered_make(const struct seal_path *path, const uint8_t *p, uint32_t len,
                             uint8_t *covered)
{
    memcpy(covered, path->src->b, sizeof path->src->b);
    memcpy(covered + 16, path->dst->b, sizeof path->dst->b);
    bytes_put_u16(covered + 32, path->sport);
    bytes_put_u16(covered + 34, path->dport);
    memcpy(covered + PATH_BYTES, p, len);
    if ((p[0] & 0xf) == WIRE_CNTL)
        memset(covered + PATH_BYTES + HOP_OFF, 0, HOP_BYTES);
    return PATH_BYTES + len;
}

uint32_t seal_state(struct table *t, struct table_entry *e, const struct seal_path *path,
                    uint8_t *p, uint32_t len)
{
    bool first = (p[0] & 0xf) == WIRE_FIRST;
    uint8_t covered[PATH_BYTES + WIRE_CNTL_MAX_BYTES], nonce[AEAD_NONCE_BYTES];
    uint32_t n = covered_make(path, p, len, covered);

    wire_put_trailer(p + len,
                     number_make(t->worker, first, first ? ++t->sent_first : ++t->sent_data));
    nonce_make(p + len, nonce);
    aead_seal_begin(e->seal, nonce, covered, n);
    aead_seal_end(e->seal, p + len + TAG_OFF);
    return len + WIRE_TRAILER_BYTES;
}

bool seal_state_right(struct table_entry *e, const struct seal_path *path, const uint8_t *p,
                      uint32_t len)
{
    uint8_t covered[PATH_BYTES + WIRE_CNTL_MAX_BYTES], nonce[AEAD_NONCE_BYTES];

    if (len > WIRE_CNTL_MAX_BYTES)
        return false;
    nonce_make(p + len, nonce);
    aead_open_begin(e->open, nonce, covered, covered_make(path, p, len, covered));
    return aead_open_end(e->open, p + len + TAG_OFF);
}

void seal_data(struct table *t, struct table_entry *e, const uint8_t *header)
{
    uint8_t number[TAG_OFF], nonce[AEAD_NONCE_BYTES];

    bytes_put_u64(number, number_make(t->worker, false, ++t->sent_data));
    nonce_make(number, nonce);
    aead_seal_begin(e->seal, nonce, header, WIRE_DATA_BYTES);
}

/* Asks for what follows a piece of memory, whatever that is: an address without memory is ignored.
 */
static void ahead_fetch(const uint8_t *from)
{
    for (uint32_t i = 0; i < PIECE_BYTES; i += RTE_CACHE_LINE_SIZE)
        rte_prefetch0(from + i);
}

/* work: aead_seal() or aead_open(), of all bytes in order. */
static inline void pieces_work(void (*work)(struct aead *, void *, const void *, uint32_t),
                               struct aead *a, uint8_t *to, const uint8_t *from, uint32_t len)
{
    for (uint32_t n; len > 0; len -= n, to += n, from += n) {
        n = RTE_MIN(len, PIECE_BYTES);
        ahead_fetch(from + n);
        work(a, to, from, n);
    }
}

void seal_data_bytes(struct table_entry *e, uint8_t *to, const uint8_t *from, uint32_t len)
{
    pieces_work(aead_seal, e->seal, to, from, len);
}

void seal_data_end(struct table *t, struct table_entry *e, uint8_t *trailer)
{
    wire_put_trailer(trailer, number_make(t->worker, false, t->sent_data));
    aead_seal_end(e->seal, trailer + TAG_OFF);
}

const uint8_t *seal_data_open(struct table *t, struct table_entry *e,
                              const uint8_t header[WIRE_DATA_BYTES], const struct rte_mbuf *m,
                              uint32_t off, uint32_t payload_len)
{
    uint32_t at = off + WIRE_DATA_BYTES, left = payload_len;
    uint8_t *clear = t->clear;
    uint8_t copy[WIRE_TRAILER_BYTES], nonce[AEAD_NONCE_BYTES];
    const uint8_t *trailer = rte_pktmbuf_read(m, at + payload_len, WIRE_TRAILER_BYTES, copy);

    CHECK(trailer != NULL && payload_len <= WIRE_UNIT_MAX); /* the caller has checked both */
    nonce_make(trailer, nonce);
    aead_open_begin(e->open, nonce, header, WIRE_DATA_BYTES);
    for (; left > 0; m = m->next) {
        if (at >= m->data_len) {
            at -= m->data_len;
            continue;
        }
        uint32_t n = RTE_MIN(left, m->data_len - at);

        pieces_work(aead_open, e->open, clear, rte_pktmbuf_mtod_offset(m, const uint8_t *, at), n);
        clear += n;
        left -= n;
        at = 0;
    }
    return aead_open_end(e->open, trailer + TAG_OFF) ? t->clear : NULL;
}
