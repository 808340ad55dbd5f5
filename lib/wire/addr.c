/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of both families: what kind they are, prefixes, text. */
#include "wire/addr.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/bytes.h"

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool addr_is_v4(const struct addr *a)
{
    return memcmp(a->b, v4_prefix, sizeof v4_prefix) == 0;
}

bool addr_is_unset(const struct addr *a)
{
    static const uint8_t zero[16];

    if (addr_is_v4(a))
        return addr_to_v4(a) == 0;
    return memcmp(a->b, zero, sizeof zero) == 0;
}

bool addr_is_multicast(const struct addr *a)
{
    if (addr_is_v4(a))
        return a->b[12] >> 4 == 0xe || addr_to_v4(a) == 0xffffffff;
    return a->b[0] == 0xff;
}

bool addr_is_link_local(const struct addr *a)
{
    if (addr_is_v4(a))
        return a->b[12] == 169 && a->b[13] == 254;
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

struct addr addr_from_v4(uint32_t ip)
{
    struct addr a;

    memcpy(a.b, v4_prefix, sizeof v4_prefix);
    bytes_put_u32(a.b + 12, ip);
    return a;
}

uint32_t addr_to_v4(const struct addr *a)
{
    return bytes_get_u32(a->b + 12);
}

bool addr_same_prefix(const struct addr *a, const struct addr *b, unsigned int prefix_len)
{
    bool v4 = addr_is_v4(a);
    unsigned int bits, whole, rest;

    if (v4 != addr_is_v4(b))
        return false;
    bits = v4 ? 96 + (prefix_len < 32 ? prefix_len : 32) : prefix_len < 128 ? prefix_len : 128;
    whole = bits / 8;
    rest = bits % 8;
    if (memcmp(a->b, b->b, whole) != 0)
        return false;
    return rest == 0 || (a->b[whole] ^ b->b[whole]) >> (8 - rest) == 0;
}

int addr_parse(const char *text, struct addr *a)
{
    uint8_t v4[4];

    if (inet_pton(AF_INET, text, v4) == 1) {
        *a = addr_from_v4(bytes_get_u32(v4));
        return 0;
    }
    return inet_pton(AF_INET6, text, a->b) == 1 ? 0 : -EINVAL;
}

const char *addr_format(const struct addr *a, char *buf)
{
    if (addr_is_v4(a))
        inet_ntop(AF_INET, a->b + 12, buf, ADDR_TEXT_MAX);
    else
        inet_ntop(AF_INET6, a->b, buf, ADDR_TEXT_MAX);
    return buf;
}
