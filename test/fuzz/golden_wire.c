/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden inputs: every packet type, alone and in frames of both families, and neighbour traffic. */
#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>

#include "base/check.h"
#include "fuzz_wire.h"
#include "wire/assoc.h"
#include "wire/frame.h"
#include "wire/neigh.h"
#include "wire/packet.h"
#include "wire/stamp.h"

#define PACKETS 10
#define ROUTES  4

static const struct rte_ether_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}};

static uint32_t first_golden(uint8_t *p)
{
    struct wire_first v = {
        .h.key = 0x1111,
        .initial_request = 1,
        .unit_max = 8192,
        .service = 7,
        .ahead = 2,
        .rate_req_Bps = 125000000,
        .burst_req_bytes = 65536,
        .silence_ms = 3000,
    };

    return wire_put_first(p, &v);
}

/* One unit of a request that is sent in units of 400 bytes; the request may be empty. */
static uint32_t data_golden(uint8_t *p, uint32_t request_len, uint32_t unit, uint32_t unit_bytes)
{
    struct wire_data v = {
        .h = {.flags = WIRE_DREQ | WIRE_EARLY, .key = 0x1111},
        .packet = 5,
        .request = 1,
        .unit = unit,
        .request_len = request_len,
        .unit_bytes = unit_bytes,
    };
    uint32_t rest = request_len - unit * unit_bytes;
    uint32_t payload_len = rest < unit_bytes ? rest : unit_bytes;

    memset(p + WIRE_DATA_BYTES, 0x5a, payload_len);
    return wire_put_data(p, &v) + payload_len;
}

static uint32_t cntl_golden(uint8_t *p, uint8_t spans, uint8_t refused)
{
    struct wire_cntl v = {
        .h = {.flags = WIRE_SREQ, .key = 0x2222},
        .own_key = 0x1111,
        .seq = 9,
        .rate_Bps = 1u << 30,
        .burst_bytes = 1u << 20,
        .unit_max = 8192,
        .span_count = spans,
        .refused_count = refused,
    };

    for (uint32_t i = 0; i < spans; i++)
        v.spans[i] = (struct wire_span){10 * (uint64_t)i - 50, 10 * (uint64_t)i - 45};
    for (uint32_t i = 0; i < refused; i++)
        v.refused[i] = (struct wire_refused){i, WIRE_REFUSED_TOO_LONG};
    return wire_put_cntl(p, &v);
}

static uint32_t packet_golden(unsigned int i, uint8_t *p)
{
    struct wire_rcntl rcntl = {.h.key = 3, .rate_Bps = 1u << 20, .expiry_ms = 100, .hop = 1};

    switch (i) {
    case 0:
        return first_golden(p);
    case 1:
        return data_golden(p, 1000, 2, 400);
    case 2:
        return data_golden(p, 0, 0, 400);
    case 3:
        return cntl_golden(p, 0, 0);
    case 4:
        return cntl_golden(p, WIRE_SPANS_MAX, WIRE_REFUSED_MAX);
    case 5: /* the last, short unit of a request in the longest units */
        return data_golden(p, 3 * WIRE_UNIT_MAX + 700, 3, WIRE_UNIT_MAX);
    case 6:
        return wire_put_init(p, 0x4444);
    case 7:
        return wire_put_response(p, 0x4444);
    case 8:
        return wire_put_cookie(p, 0x4444);
    case 9:
        rcntl.proven = true;
        rcntl.proof = 0x5555;
        return wire_put_rcntl(p, &rcntl);
    default:
        return wire_put_rcntl(p, &rcntl);
    }
}

static struct frame_route route_golden(unsigned int i)
{
    struct frame_route r = {mac_a, mac_b, i & 2 ? 5 : FRAME_VLAN_NONE, .sport = 4000,
                            .dport = WIRE_UDP_PORT};

    addr_parse(i & 1 ? "fd00::1" : "10.0.0.1", &r.src);
    addr_parse(i & 1 ? "fd00::2" : "10.0.0.2", &r.dst);
    return r;
}

static size_t framed_golden(unsigned int packet, unsigned int route, uint8_t *p)
{
    struct frame_route r = route_golden(route);
    uint16_t head = frame_header_len(&r);
    uint32_t len = packet_golden(packet, p + head);

    frame_put(p, &r, len);
    frame_set_udp_sum(p, &r, len, frame_sum(p + head, len));
    return head + len;
}

/* An echo request. Its checksums are wrong until the target corrects them. */
static size_t echo_golden(const struct frame_route *r, uint8_t *p)
{
    bool v4 = addr_is_v4(&r->src);
    uint16_t head = frame_put(p, r, 12);
    uint8_t *l4 = p + head - 8;

    memset(l4, 0, 20);
    l4[0] = v4 ? 8 : 128;
    *(l4 + (v4 ? -11 : -34)) = v4 ? 1 : 58; /* the protocol, in the IP header before it */
    return (size_t)head + 12;
}

static size_t link_golden(unsigned int kind, unsigned int route, uint8_t *p)
{
    struct frame_route r = route_golden(route);

    switch (kind) {
    case 0:
        return neigh_put_request(p, &mac_a, &r.src, &r.dst, r.vlan);
    case 1:
        return neigh_put_reply(p, &mac_b, &r.dst, &mac_a, &r.src, r.vlan);
    default:
        return echo_golden(&r, p);
    }
}

static size_t stamped_golden(unsigned int route, uint8_t *p)
{
    struct frame_route r = route_golden(route);
    struct stamp_flow flow = {.flow = 3, .src = 1, .dst = 2, .sport = 9, .dport = 7};
    struct stamp_template t;
    uint32_t len = stamp_frame_min(&r) + 40;

    stamp_template_init(&t, &r, len, 2, 77);
    stamp_filler_put(p, 0, len + STAMP_HEAD_MAX);
    stamp_put(&t, p, &flow, 1000, 123456789);
    return len;
}

size_t golden_put(unsigned int i, uint8_t *p)
{
    if (i < PACKETS)
        return packet_golden(i, p);
    i -= PACKETS;
    if (i < PACKETS * ROUTES)
        return framed_golden(i / ROUTES, i % ROUTES, p);
    i -= PACKETS * ROUTES;
    if (i < 3 * ROUTES)
        return link_golden(i / ROUTES, i % ROUTES, p);
    i -= 3 * ROUTES;
    return i < ROUTES ? stamped_golden(i, p) : 0;
}

const uint64_t golden_runs = 200000;

void golden_check(void)
{
    const struct fuzz_wire_counts *c = &fuzz_wire_counts;

    CHECK(c->packets[WIRE_FIRST] >= 5 && c->packets[WIRE_DATA] >= 10);
    CHECK(c->packets[WIRE_CNTL] >= 10 && c->packets[WIRE_RCNTL] >= 5);
    CHECK(c->packets[WIRE_INIT] >= 5 && c->packets[WIRE_RESPONSE] >= 5);
    CHECK(c->packets[WIRE_COOKIE] >= 5);
    CHECK(c->frames[FRAME_UDP] >= 24 && c->frames[FRAME_ARP] >= 4);
    CHECK(c->frames[FRAME_ICMP4] >= 2 && c->frames[FRAME_ICMP6] >= 6);
    CHECK(c->neigh[NEIGH_REQUEST] >= 4 && c->neigh[NEIGH_REPLY] >= 4 && c->echoes >= 4);
    CHECK(c->stamps >= 4 && c->reflections >= 24);
}

void golden_print(void)
{
    const struct fuzz_wire_counts *c = &fuzz_wire_counts;

    printf("accepted: FIRST %llu DATA %llu CNTL %llu RCNTL %llu neighbour %llu echo %llu "
           "stamp %llu\n",
           (unsigned long long)c->packets[WIRE_FIRST], (unsigned long long)c->packets[WIRE_DATA],
           (unsigned long long)c->packets[WIRE_CNTL], (unsigned long long)c->packets[WIRE_RCNTL],
           (unsigned long long)(c->neigh[NEIGH_REQUEST] + c->neigh[NEIGH_REPLY]),
           (unsigned long long)c->echoes, (unsigned long long)c->stamps);
}
