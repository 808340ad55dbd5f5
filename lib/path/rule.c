/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reads a prefix such as 10.0.0.0/8, or an address. */
static int prefix_parse(struct spec *s, struct addr *a, uint32_t *len)
{
    char text[SPEC_WORD_MAX], *slash = strchr(strcpy(text, s->word), '/'), *end = NULL;
    uint32_t bits;

    if (slash != NULL)
        *slash = '\0';
    if (addr_parse(text, a) != 0)
        return spec_fail(s, "is no address, nor an address/length");
    bits = addr_is_v4(a) ? 32 : 128;
    *len = bits;
    if (slash != NULL) {
        unsigned long v = strtoul(slash + 1, &end, 10);

        if (end == slash + 1 || *end != '\0' || v > bits)
            return spec_fail(s, "has a length that its address cannot have");
        *len = (uint32_t)v;
    }
    spec_next(s);
    return 0;
}

/* Reads a number or a range: 80 or 5000-5999. */
static int range_parse(struct spec *s, struct rule_range *r)
{
    char *end;
    unsigned long first = strtoul(s->word, &end, 10), last = first;

    if (!spec_digit(s))
        return spec_fail(s, "is no number, nor a range such as 5000-5999");
    if (*end == '-')
        last = strtoul(end + 1, &end, 10);
    if (*end != '\0' || first > last || last > UINT16_MAX)
        return spec_fail(s, "is no number of at most 65535, nor a range of them");
    *r = (struct rule_range){(uint16_t)first, (uint16_t)last, true};
    spec_next(s);
    return 0;
}

static int proto_parse(struct spec *s, uint8_t *proto)
{
    static const struct {
        const char *name;
        uint8_t number;
    } known[] = {{"tcp", 6}, {"udp", 17}, {"icmp", 1}, {"icmp6", 58}, {"sctp", 132}};
    uint64_t n;

    for (unsigned int i = 0; i < sizeof known / sizeof known[0]; i++)
        if (spec_accept(s, known[i].name)) {
            *proto = known[i].number;
            return 0;
        }
    if (!spec_digit(s))
        return spec_stray(s, "is no protocol");
    if (spec_number(s, "proto", 1, 255, &n))
        *proto = (uint8_t)n;
    return 0;
}

/* Reads one condition; false if the next word begins none. */
static bool condition_parse(struct spec *s, struct rule *r)
{
    uint64_t n = 0;

    if (spec_accept(s, "src")) {
        r->has_src = prefix_parse(s, &r->src, &r->src_len) == 0;
    } else if (spec_accept(s, "dst")) {
        r->has_dst = prefix_parse(s, &r->dst, &r->dst_len) == 0;
    } else if (spec_accept(s, "sport")) {
        range_parse(s, &r->sport);
    } else if (spec_accept(s, "dport")) {
        range_parse(s, &r->dport);
    } else if (spec_accept(s, "port")) {
        range_parse(s, &r->port);
    } else if (spec_accept(s, "length")) {
        range_parse(s, &r->length);
    } else if (spec_accept(s, "proto")) {
        r->has_proto = proto_parse(s, &r->proto) == 0;
    } else if (spec_accept(s, "vlan")) {
        r->has_vlan = spec_number(s, "vlan", 0, 4095, &n);
        r->vlan = (uint16_t)n;
    } else if (spec_accept(s, "dscp")) {
        r->has_dscp = spec_number(s, "dscp", 0, 63, &n);
        r->dscp = (uint8_t)n;
    } else {
        return false;
    }
    return true;
}

int rule_parse(struct spec *s, struct rule *r)
{
    if (!condition_parse(s, r))
        return spec_stray(s, "is no condition");
    while (!s->failed && condition_parse(s, r))
        continue;
    return s->failed ? -EINVAL : 0;
}

static bool within(const struct rule_range *r, uint32_t v)
{
    return !r->set || (v >= r->first && v <= r->last);
}

static bool prefix_fits(const struct addr *a, uint32_t len, const uint8_t *bytes)
{
    struct addr b;

    memcpy(b.b, bytes, sizeof b.b);
    return addr_is_v4(a) == addr_is_v4(&b) && addr_same_prefix(a, &b, len);
}

bool rule_fits(const struct rule *r, const struct ip_flow *f, uint32_t len)
{
    /* only IP packets have these fields */
    if ((r->has_src || r->has_dst || r->has_dscp) && !f->ip)
        return false;
    if ((r->sport.set || r->dport.set || r->port.set) && f->sport == 0 && f->dport == 0)
        return false;
    return (!r->has_src || prefix_fits(&r->src, r->src_len, f->src)) &&
           (!r->has_dst || prefix_fits(&r->dst, r->dst_len, f->dst)) &&
           (!r->has_proto || r->proto == f->proto) && (!r->has_vlan || r->vlan == f->vlan) &&
           (!r->has_dscp || r->dscp == f->dscp) && within(&r->sport, f->sport) &&
           within(&r->dport, f->dport) && within(&r->length, len) &&
           (!r->port.set || within(&r->port, f->sport) || within(&r->port, f->dport));
}
