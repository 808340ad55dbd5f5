/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for sealed packets: lib/crypto alone, and FIRST, CNTL and DATA by lib/assoc. All
 * libraries must seal to the same bytes, in whatever pieces the bytes come. A packet opens to what
 * was sealed; with any bit changed it does not open, but for the bits of CNTL that routers may
 * write.
 */
#include "fuzz_aead.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "assoc/number.h"
#include "assoc/seal.h"
#include "base/rng.h"
#include "fuzz_input.h"

#define PIECES     4u
#define SEALED_MAX 2048u
#define NUMBER     3u
#define HOP_OFF    160u /* of CNTL */
#define HOP_END    176u

struct fuzz_aead_counts fuzz_aead_counts;

struct sealed {
    enum aead_cipher cipher;
    uint8_t key[AEAD_KEY_MAX], nonce[AEAD_NONCE_BYTES];
    uint32_t piece[PIECES]; /* lengths, as often as needed */
    uint8_t *associated;
    uint32_t associated_len;
    uint8_t *plain; /* exact */
    uint32_t len;
    uint16_t bit; /* to change */
};

static void bit_change(uint8_t *bytes, uint32_t len, uint16_t bit)
{
    bytes[bit / 8 % len] ^= (uint8_t)(1 << bit % 8);
}

/* How many of `left` bytes piece i has. */
static uint32_t piece_len(const struct sealed *s, uint32_t i, uint32_t left)
{
    uint32_t n = s->piece[i % PIECES];

    return i >= 64 || n > left ? left : n;
}

/* ---- the cipher alone -------------------------------------------------------------------- */

static void seal_run(const struct sealed *s, enum aead_library library, uint8_t *out, uint8_t *tag)
{
    struct aead *a = aead_create(library, s->cipher, s->key);

    aead_seal_begin(a, s->nonce, s->associated, s->associated_len);
    for (uint32_t at = 0, i = 0, n; at < s->len; at += n, i++) {
        n = piece_len(s, i, s->len - at);
        aead_seal(a, out + at, s->plain + at, n);
    }
    aead_seal_end(a, tag);
    aead_destroy(a);
}

/* Opens in place, in other pieces. */
static bool open_run(const struct sealed *s, enum aead_library library, uint8_t *bytes,
                     const uint8_t *associated, const uint8_t *tag)
{
    struct aead *a = aead_create(library, s->cipher, s->key);
    bool right;

    aead_open_begin(a, s->nonce, associated, s->associated_len);
    for (uint32_t at = 0, i = 1, n; at < s->len; at += n, i++) {
        n = piece_len(s, i, s->len - at);
        aead_open(a, bytes + at, bytes + at, n);
    }
    right = aead_open_end(a, tag);
    aead_destroy(a);
    return right;
}

/* Associated data, bytes and tag in one: a bit of any of them is changed. */
static void changed_check(const struct sealed *s, enum aead_library library, const uint8_t *sealed,
                          const uint8_t *tag)
{
    uint32_t all = s->associated_len + s->len + AEAD_TAG_BYTES;
    uint8_t *bytes = malloc(all);

    CHECK(bytes != NULL);
    memcpy(bytes, s->associated, s->associated_len);
    memcpy(bytes + s->associated_len, sealed, s->len);
    memcpy(bytes + all - AEAD_TAG_BYTES, tag, AEAD_TAG_BYTES);
    bit_change(bytes, all, s->bit);
    CHECK(!open_run(s, library, bytes + s->associated_len, bytes, bytes + all - AEAD_TAG_BYTES));
    fuzz_aead_counts.wrong++;
    free(bytes);
}

static void cipher_run(const struct sealed *s)
{
    uint8_t *out[AEAD_LIBRARIES] = {0}, tag[AEAD_LIBRARIES][AEAD_TAG_BYTES];
    int first = -1;

    for (int l = 0; l < AEAD_LIBRARIES; l++) {
        if (!aead_has((enum aead_library)l))
            continue;
        out[l] = exact_copy(s->plain, s->len);
        seal_run(s, (enum aead_library)l, out[l], tag[l]);
        first = first < 0 ? l : first;
        CHECK(memcmp(out[l], out[first], s->len) == 0);
        CHECK(memcmp(tag[l], tag[first], AEAD_TAG_BYTES) == 0);
        changed_check(s, (enum aead_library)l, out[l], tag[l]);
    }
    for (int l = 0; l < AEAD_LIBRARIES; l++) {
        if (out[l] == NULL)
            continue;
        CHECK(open_run(s, (enum aead_library)l, out[l], s->associated, tag[first]));
        CHECK(memcmp(out[l], s->plain, s->len) == 0);
        fuzz_aead_counts.right++;
        free(out[l]);
    }
    fuzz_aead_counts.packets[AEAD_PACKET_NONE]++;
}

/* ---- packets ----------------------------------------------------------------------------- */

/* Two ends of an association, each with one entry. */
struct ends {
    struct table t[2];
    struct table_entry *e[2];
    struct table_firsts firsts[2];
    struct addr src, dst;
    struct seal_path path;
};

static void ends_make(struct ends *x, const struct sealed *s)
{
    enum aead_library library[] = {aead_best(), AEAD_LIBCRYPTO};

    memset(x, 0, sizeof *x);
    x->src = addr_from_v4(0x0a000001);
    x->dst = addr_from_v4(0x0a000002);
    x->path = (struct seal_path){&x->src, &x->dst, 4000, 47800};
    for (int i = 0; i < 2; i++) {
        struct assoc_keys k = {
            .slot = NUMBER, .number = NUMBER, .remote = NUMBER, .outgoing = i == 0};

        CHECK(table_init(&x->t[i], 1, (uint8_t)i) == 0);
        table_install(&x->t[i], &k, aead_create(library[i], s->cipher, s->key),
                      aead_create(library[i], s->cipher, s->key), &x->firsts[i], 1000);
        x->e[i] = table_find(&x->t[i], NUMBER);
        CHECK(x->e[i] != NULL);
    }
}

static void ends_free(struct ends *x)
{
    table_fini(&x->t[0]);
    table_fini(&x->t[1]);
}

/* FIRST or CNTL: the bytes of the input with the type in their header. */
static void state_run(struct ends *x, const struct sealed *s, uint8_t type)
{
    uint32_t len = s->len < WIRE_CNTL_BYTES ? s->len : WIRE_CNTL_BYTES, sealed, at;
    uint8_t *p = calloc(1, WIRE_CNTL_BYTES + WIRE_TRAILER_BYTES);
    bool hop;

    CHECK(p != NULL);
    memcpy(p, s->plain, len);
    p[0] = (uint8_t)(0x10 | type);
    sealed = seal_state(&x->t[0], x->e[0], &x->path, p, WIRE_CNTL_BYTES);
    CHECK(sealed == WIRE_CNTL_BYTES + WIRE_TRAILER_BYTES);
    CHECK(seal_state_right(x->e[1], &x->path, p, WIRE_CNTL_BYTES));
    x->path.sport++;
    CHECK(!seal_state_right(x->e[1], &x->path, p, WIRE_CNTL_BYTES));
    x->path.sport--;
    at = s->bit / 8 % sealed;
    hop = type == WIRE_CNTL && at >= HOP_OFF && at < HOP_END;
    bit_change(p, sealed, s->bit);
    if ((p[0] & 0xf) == WIRE_CNTL ||
        type != WIRE_CNTL) /* else it may be a FIRST, with other bytes */
        CHECK(seal_state_right(x->e[1], &x->path, p, WIRE_CNTL_BYTES) == hop);
    fuzz_aead_counts.hops += hop;
    fuzz_aead_counts.right++;
    fuzz_aead_counts.wrong += !hop;
    free(p);
}

/* A chain of mbufs over pieces of the packet, each of which ends where its memory ends. */
static uint32_t chain_make(const struct sealed *s, const uint8_t *p, uint32_t len,
                           struct rte_mbuf *chain, uint32_t max)
{
    uint32_t n = 0;

    for (uint32_t at = 0, i = 0; at < len; i++) {
        uint32_t piece = n + 1 == max ? len - at : piece_len(s, i, len - at);

        memset(&chain[n], 0, sizeof chain[n]);
        chain[n].buf_addr = exact_copy(p + at, piece);
        chain[n].data_len = (uint16_t)piece;
        if (n > 0)
            chain[n - 1].next = &chain[n];
        at += piece;
        n++;
    }
    chain[0].pkt_len = len;
    chain[0].nb_segs = (uint16_t)n;
    return n;
}

/* What is opened from the packet at p, with its header as the receiver believes it. */
static const uint8_t *data_open(struct ends *x, const struct sealed *s, const uint8_t *p,
                                uint32_t len)
{
    struct rte_mbuf chain[8];
    uint32_t n = chain_make(s, p, len, chain, 8);
    const uint8_t *clear;

    clear =
        seal_data_open(&x->t[1], x->e[1], p, chain, 0, len - WIRE_DATA_BYTES - WIRE_TRAILER_BYTES);
    while (n-- > 0)
        free(chain[n].buf_addr);
    return clear;
}

static void data_run(struct ends *x, const struct sealed *s)
{
    uint32_t len = WIRE_DATA_BYTES + s->len + WIRE_TRAILER_BYTES;
    uint8_t *p = calloc(1, len);
    const uint8_t *clear;

    CHECK(p != NULL);
    memcpy(p, s->associated,
           s->associated_len < WIRE_DATA_BYTES ? s->associated_len : WIRE_DATA_BYTES);
    seal_data(&x->t[0], x->e[0], p);
    for (uint32_t at = 0, i = 2, n; at < s->len; at += n, i++) {
        n = piece_len(s, i, s->len - at);
        seal_data_bytes(x->e[0], p + WIRE_DATA_BYTES + at, s->plain + at, n);
    }
    seal_data_end(&x->t[0], x->e[0], p + len - WIRE_TRAILER_BYTES);
    clear = data_open(x, s, p, len);
    CHECK(clear != NULL && memcmp(clear, s->plain, s->len) == 0);
    bit_change(p, len, s->bit);
    CHECK(data_open(x, s, p, len) == NULL);
    fuzz_aead_counts.right++;
    fuzz_aead_counts.wrong++;
    free(p);
}

/* The numbers of FIRST against a list of all that have come. */
static void firsts_run(struct ends *x, const struct sealed *s)
{
    uint64_t newest = 0, come[64];
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->len && n < 64; i++) {
        uint64_t count = newest + s->plain[i] % 32 >= 28 ? newest + s->plain[i] % 32 - 28 : 1;
        bool known = count == 0 || newest >= count + FIRSTS_SEEN;

        for (uint32_t k = 0; k < n; k++)
            known = known || come[k] == count;
        CHECK(table_first_new(x->e[1], number_make(0, true, count)) == !known);
        CHECK(!table_first_new(x->e[1], number_make(0, false, count)));
        if (!known)
            come[n++] = count;
        newest = count > newest ? count : newest;
    }
}

static void packet_run(const struct sealed *s, enum aead_packet packet)
{
    struct ends x;

    ends_make(&x, s);
    if (packet == AEAD_PACKET_DATA)
        data_run(&x, s);
    else
        state_run(&x, s, packet == AEAD_PACKET_FIRST ? WIRE_FIRST : WIRE_CNTL);
    if (packet == AEAD_PACKET_FIRST)
        firsts_run(&x, s);
    ends_free(&x);
    fuzz_aead_counts.packets[packet]++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, data + size};
    uint8_t what = input_u8(&in), plain[SEALED_MAX];
    struct sealed s = {.cipher = (what & 3) % AEAD_CIPHERS};
    struct rng r;

    rng_init(&r, input_u8(&in));
    for (uint32_t i = 0; i < AEAD_KEY_MAX; i++)
        s.key[i] = (uint8_t)rng_u64(&r);
    for (uint32_t i = 0; i < AEAD_NONCE_BYTES; i++)
        s.nonce[i] = (uint8_t)rng_u64(&r);
    s.bit = (uint16_t)input_u16(&in);
    for (uint32_t i = 0; i < PIECES; i++)
        s.piece[i] = input_u8(&in) * (i + 1u);
    s.associated_len = input_u8(&in);
    input_bytes(&in, plain, s.associated_len);
    s.associated = exact_copy(plain, s.associated_len);
    while (input_left(&in) && s.len < SEALED_MAX)
        plain[s.len++] = input_u8(&in);
    s.plain = exact_copy(plain, s.len);
    fuzz_aead_counts.ciphers[s.cipher]++;
    if ((what >> 2 & 3) == AEAD_PACKET_NONE)
        cipher_run(&s);
    else
        packet_run(&s, (enum aead_packet)(what >> 2 & 3));
    free(s.associated);
    free(s.plain);
    return 0;
}
