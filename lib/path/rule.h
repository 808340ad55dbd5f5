/* SPDX-License-Identifier: BSD-3-Clause */
/* A rule says which packets a chain is for. A packet must meet all conditions of the rule; every
 * packet fits a rule without conditions. */
#ifndef SLUICE_PATH_RULE_H
#define SLUICE_PATH_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "path/ip.h"
#include "path/spec.h"
#include "wire/addr.h"

struct rule_range {
    uint16_t first, last;
    bool set;
};

struct rule {
    struct addr src, dst;
    uint32_t src_len, dst_len; /* prefix lengths in bits, valid with has_src, has_dst */
    bool has_src, has_dst, has_proto, has_vlan, has_dscp;
    uint8_t proto, dscp;
    uint16_t vlan;
    struct rule_range sport, dport, port, length;
};

/* Reads one condition or more. Returns 0, or an error kept in s; no condition at all is an error,
 * too. */
int rule_parse(struct spec *s, struct rule *r);
bool rule_fits(const struct rule *r, const struct ip_flow *f, uint32_t len);

#endif
