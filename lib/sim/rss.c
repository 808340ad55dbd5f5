/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/rss.h"

#include <string.h>

#include "base/check.h"
#include "wire/frame.h"

#define RETA_DEFAULT 128u

void rss_init(struct rss *r, uint16_t queues)
{
    static const uint8_t usual[RSS_KEY_BYTES] = {
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
        0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
        0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
    };

    *r = (struct rss){.udp4 = true, .udp6 = true, .ip4 = true, .ip6 = true};
    memcpy(r->key, usual, sizeof usual);
    r->reta_size = RETA_DEFAULT;
    for (uint16_t i = 0; i < r->reta_size; i++)
        r->reta[i] = (uint16_t)(i % queues);
}

/* Each bit set in the tuple XORs in the 32 bits of the key that begin at the same position. */
uint32_t rss_hash(const struct rss *r, const uint8_t *tuple, uint32_t len)
{
    uint64_t window = 0; /* 40 bits of the key, from the current byte on */
    uint32_t hash = 0;

    CHECK(len + 4 <= RSS_KEY_BYTES);
    for (uint32_t i = 0; i < 5; i++)
        window = window << 8 | (i < 4 ? r->key[i] : 0);
    for (uint32_t i = 0; i < len; i++) {
        window = (window & ~0xffull) | (i + 4 < RSS_KEY_BYTES ? r->key[i + 4] : 0);
        for (uint32_t bit = 0; bit < 8; bit++)
            if (tuple[i] & 0x80u >> bit)
                hash ^= (uint32_t)(window >> (8 - bit));
        window <<= 8;
    }
    return hash;
}

/* Appends an address as it is hashed: 4 or 16 bytes. Returns how many. */
static uint32_t addr_put(uint8_t *tuple, const struct addr *a)
{
    uint32_t len = addr_is_v4(a) ? 4 : 16;

    memcpy(tuple, a->b + sizeof a->b - len, len);
    return len;
}

uint16_t rss_queue(const struct rss *r, const uint8_t *frame, uint32_t len)
{
    uint8_t tuple[RSS_KEY_BYTES];
    struct frame f;
    uint32_t n;

    frame_parse(frame, len, len, &f);
    if (f.kind != FRAME_UDP && f.kind != FRAME_ICMP4 && f.kind != FRAME_ICMP6)
        return 0;
    bool v4 = addr_is_v4(&f.dst);
    bool ports = f.kind == FRAME_UDP && (v4 ? r->udp4 : r->udp6);

    if (!ports && !(v4 ? r->ip4 : r->ip6))
        return 0;
    n = addr_put(tuple, &f.src);
    n += addr_put(tuple + n, &f.dst);
    if (ports) {
        const uint16_t both[2] = {f.sport, f.dport};

        for (uint32_t i = 0; i < 2; i++) {
            tuple[n++] = (uint8_t)(both[i] >> 8);
            tuple[n++] = (uint8_t)both[i];
        }
    }
    return r->reta[rss_hash(r, tuple, n) % r->reta_size];
}
