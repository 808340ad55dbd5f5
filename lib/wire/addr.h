/* SPDX-License-Identifier: BSD-3-Clause */
/* One address type for both families: IPv6, with IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). */
#ifndef SLUICE_WIRE_ADDR_H
#define SLUICE_WIRE_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADDR_TEXT_MAX 48

struct addr {
    uint8_t b[16]; /* network byte order */
};

static inline bool addr_equal(const struct addr *a, const struct addr *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

bool addr_is_v4(const struct addr *a);
bool addr_is_unset(const struct addr *a);      /* :: or 0.0.0.0 */
bool addr_is_multicast(const struct addr *a);  /* also v4 broadcast 255.255.255.255 */
bool addr_is_link_local(const struct addr *a); /* fe80::/10 or 169.254/16 */

/* To and from an IPv4 address in host byte order. */
struct addr addr_from_v4(uint32_t ip);
uint32_t addr_to_v4(const struct addr *a);

/* Are a and b equal in their first prefix_len bits? For IPv4, prefix_len counts IPv4 bits. */
bool addr_same_prefix(const struct addr *a, const struct addr *b, unsigned int prefix_len);

/* Text to address ("10.0.0.1", "fd00::1"): 0 or -EINVAL. */
int addr_parse(const char *text, struct addr *a);

/* Address to text, at most ADDR_TEXT_MAX bytes; returns buf. */
const char *addr_format(const struct addr *a, char *buf);

#endif
