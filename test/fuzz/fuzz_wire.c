/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for lib/wire. It parses each input as a frame, as the same frame with correct IPv4
 * and ICMP checksums (no fuzzer guesses those), and as a Sluice packet. An accepted input must lie
 * within its bounds, and must survive view -> bytes -> view unchanged.
 */
#include "fuzz_wire.h"

#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "base/check.h"
#include "base/seq.h"
#include "wire/assoc.h"
#include "wire/frame.h"
#include "wire/neigh.h"
#include "wire/packet.h"
#include "wire/stamp.h"

struct fuzz_wire_counts fuzz_wire_counts;

/* A copy at an odd address that ends where its allocation ends, for AddressSanitizer. */
static uint8_t *exact_copy(const uint8_t *p, size_t len)
{
    uint8_t *copy = calloc(1, len + 1);

    CHECK(copy != NULL);
    if (len > 0)
        memcpy(copy + 1, p, len);
    return copy;
}

static bool same_except(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t to)
{
    return from >= to || memcmp(a + from, b + from, to - from) == 0;
}

static void first_check(const uint8_t *p, const struct wire_first *v)
{
    uint8_t again[WIRE_FIRST_BYTES];
    struct wire_first w;

    CHECK(wire_put_first(again, v) == WIRE_FIRST_BYTES);
    CHECK(same_except(p, again, 0, 3) && same_except(p, again, 4, 72));
    CHECK(wire_parse_first(again, WIRE_FIRST_BYTES, &w) == WIRE_OK);
    CHECK(v->service != 0 && v->unit_max <= WIRE_UNIT_MAX);
}

static void data_check(const uint8_t *p, uint32_t len, const struct wire_data *v)
{
    uint8_t again[WIRE_DATA_BYTES];
    uint64_t start = (uint64_t)v->unit * v->unit_bytes;
    struct wire_data w;

    CHECK(v->payload_len == len - WIRE_DATA_BYTES);
    CHECK(v->unit < wire_units(v->request_len, v->unit_bytes));
    CHECK(start <= v->request_len && v->payload_len <= v->request_len - start);
    CHECK(wire_put_data(again, v) == WIRE_DATA_BYTES);
    CHECK(same_except(p, again, 0, 3) && same_except(p, again, 4, WIRE_DATA_BYTES));
    CHECK(wire_parse_data(again, WIRE_DATA_BYTES, len, &w) == WIRE_OK);
    CHECK(wire_parse_data(again, WIRE_DATA_BYTES, len + 1, &w) == WIRE_BAD_LENGTH);
}

static void cntl_check(const uint8_t *p, uint32_t len, const struct wire_cntl *v)
{
    uint8_t again[WIRE_CNTL_MAX_BYTES];
    uint32_t spans_end = WIRE_CNTL_BYTES + WIRE_SPAN_BYTES * v->span_count;
    struct wire_cntl w;

    CHECK(wire_put_cntl(again, v) == len);
    CHECK(same_except(p, again, 0, 3) && same_except(p, again, 4, 153));
    CHECK(same_except(p, again, 156, spans_end));
    for (uint32_t at = spans_end; at < len; at += WIRE_REFUSED_BYTES)
        CHECK(same_except(p, again, at, at + 6));
    for (uint32_t i = 0; i < v->span_count; i++) {
        CHECK(seq64_before(v->spans[i].first, v->spans[i].end));
        for (uint32_t k = 0; k < i; k++)
            CHECK(!seq64_before(v->spans[i].first, v->spans[k].end));
    }
    CHECK(v->own_key != 0 && v->seq != 0 && v->end < WIRE_ENDS);
    CHECK(wire_parse_cntl(again, len, &w) == WIRE_OK);
}

static void rcntl_check(const uint8_t *p, const struct wire_rcntl *v)
{
    uint8_t again[WIRE_RCNTL_PROVEN_BYTES];
    uint32_t len = wire_put_rcntl(again, v);
    struct wire_rcntl w;

    CHECK(len == (v->proven ? WIRE_RCNTL_PROVEN_BYTES : WIRE_RCNTL_BYTES));
    CHECK(same_except(p, again, 0, 3) && same_except(p, again, 4, len));
    CHECK(wire_parse_rcntl(again, len, &w) == WIRE_OK);
    CHECK(v->expiry_ms > 0);
}

/* INIT, RESPONSE or COOKIE of len bytes: only the parser of its type takes it, and the length is
 * all that it looks at besides the header. */
static bool handshake_run(const uint8_t *p, uint32_t len, const struct wire_header *h)
{
    struct wire_header init, response, cookie;
    const enum wire_verdict v[] = {wire_parse_init(p, len, &init),
                                   wire_parse_response(p, len, &response),
                                   wire_parse_cookie(p, len, &cookie)};
    const uint32_t bytes[] = {WIRE_INIT_BYTES, WIRE_RESPONSE_BYTES, WIRE_COOKIE_BYTES};
    bool taken = false;

    for (uint32_t i = 0; i < 3; i++) {
        CHECK((v[i] == WIRE_BAD_TYPE) == ((uint32_t)h->type != WIRE_INIT + i));
        CHECK(v[i] != WIRE_OK || len == bytes[i]);
        taken = taken || v[i] == WIRE_OK;
    }
    CHECK(!taken || (h->association == 0 && wire_is_handshake(h->type)));
    return taken;
}

/* All parsers see every packet; at most the one of its type may accept it. */
static void packet_run(const uint8_t *p, uint32_t len)
{
    enum wire_verdict verdict, first, data, cntl, rcntl;
    struct wire_header h;
    struct wire_first vf;
    struct wire_data vd;
    struct wire_cntl vc;
    struct wire_rcntl vr;

    verdict = wire_parse_header(p, len, &h);
    first = wire_parse_first(p, len, &vf);
    data = wire_parse_data(p, len, len, &vd);
    cntl = wire_parse_cntl(p, len, &vc);
    rcntl = wire_parse_rcntl(p, len, &vr);
    CHECK(verdict < WIRE_VERDICTS && first < WIRE_VERDICTS && data < WIRE_VERDICTS &&
          cntl < WIRE_VERDICTS && rcntl < WIRE_VERDICTS);
    if (verdict != WIRE_OK) {
        CHECK(first == verdict && data == verdict && cntl == verdict && rcntl == verdict);
        return;
    }
    CHECK(h.key != 0);
    CHECK((first == WIRE_BAD_TYPE) == (h.type != WIRE_FIRST));
    CHECK((data == WIRE_BAD_TYPE) == (h.type != WIRE_DATA));
    CHECK((cntl == WIRE_BAD_TYPE) == (h.type != WIRE_CNTL));
    CHECK((rcntl == WIRE_BAD_TYPE) == (h.type != WIRE_RCNTL));
    if (first == WIRE_OK)
        first_check(p, &vf);
    else if (data == WIRE_OK)
        data_check(p, len, &vd);
    else if (cntl == WIRE_OK)
        cntl_check(p, len, &vc);
    else if (rcntl == WIRE_OK)
        rcntl_check(p, &vr);
    else if (!handshake_run(p, len, &h))
        return;
    fuzz_wire_counts.packets[h.type]++;
}

/* Perhaps only the header of a packet is contiguous: the parser does not read the payload. */
static void data_run_torn(const uint8_t *p, uint32_t len)
{
    uint32_t head = len < WIRE_DATA_BYTES ? len : WIRE_DATA_BYTES;
    uint8_t *copy = exact_copy(p, head);
    struct wire_data whole, torn;

    CHECK(wire_parse_data(copy + 1, head, len, &torn) == wire_parse_data(p, len, len, &whole));
    free(copy);
}

static void udp_check(const uint8_t *p, const struct frame *f)
{
    struct frame_route r = {f->src_mac, f->dst_mac, f->vlan, f->src, f->dst,
                            f->sport,   f->dport,   0,       f->ecn};
    uint8_t again[WIRE_HEADERS_MAX];
    uint64_t sum = frame_sum(p + f->payload_off, f->payload_len);
    struct frame g;
    uint32_t head;

    (void)frame_udp_sum_ok(p, f, sum);
    if (f->payload_len > 65507)
        return;
    head = frame_put(again, &r, f->payload_len);
    CHECK(head == frame_header_len(&r));
    frame_set_udp_sum(again, &r, f->payload_len, sum);
    CHECK(frame_parse(again, head, head + f->payload_len, &g) == FRAME_UDP);
    CHECK(g.udp_sum != 0 && frame_udp_sum_ok(again, &g, sum));
    CHECK(g.vlan == f->vlan && g.ecn == f->ecn && g.sport == f->sport && g.dport == f->dport);
    CHECK(addr_equal(&g.src, &f->src) && addr_equal(&g.dst, &f->dst));
    CHECK(g.payload_len == f->payload_len && g.payload_off == head);
}

static void neigh_check(const struct frame *f, const struct neigh *n)
{
    const struct rte_ether_addr *mac = n->has_mac ? &n->mac : &f->src_mac;
    uint8_t again[NEIGH_FRAME_MAX];
    struct neigh m;
    struct frame g;
    uint32_t len;

    if (!rte_is_valid_assigned_ether_addr(mac))
        return;
    if (n->kind == NEIGH_REQUEST)
        len = neigh_put_request(again, mac, &n->sender, &n->target, f->vlan);
    else
        len = neigh_put_reply(again, mac, &n->target, &f->dst_mac, &n->target, f->vlan);
    CHECK(len <= NEIGH_FRAME_MAX);
    frame_parse(again, len, len, &g);
    CHECK(neigh_parse(again, len, &g, &m) == n->kind);
    CHECK(addr_equal(&m.target, &n->target) && g.vlan == f->vlan);
    if (m.has_mac)
        CHECK(rte_is_same_ether_addr(&m.mac, mac));
    if (n->kind == NEIGH_REQUEST)
        CHECK(addr_equal(&m.sender, &n->sender));
}

static void echo_run(const uint8_t *p, uint32_t len, const struct frame *f)
{
    static const struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 9}};
    uint8_t *copy = exact_copy(p, len);
    struct frame g;

    if (neigh_echo(copy + 1, len, f, &mac)) {
        fuzz_wire_counts.echoes++;
        CHECK(frame_parse(copy + 1, len, len, &g) == f->kind);
        CHECK(addr_equal(&g.src, &f->dst) && addr_equal(&g.dst, &f->src));
        CHECK(rte_is_same_ether_addr(&g.dst_mac, &f->src_mac));
        CHECK(g.payload_len == f->payload_len && g.ecn == 0);
        CHECK(!neigh_echo(copy + 1, len, &g, &mac));
    } else {
        CHECK(len == 0 || memcmp(copy + 1, p, len) == 0);
    }
    free(copy);
}

/* Stamps, whatever shape the receiver expects; and the way back and there again. */
static void stamp_run(const uint8_t *p, uint32_t len)
{
    const struct stamp_shape shapes[] = {{14, 26, 34, 42, true}, {14, 22, 54, 62, false}};
    uint8_t *copy = exact_copy(p, len);
    struct stamp s[2];
    uint32_t end[2];

    if (stamp_get(p, len, len, &shapes[0], &s[0], &end[0]) == STAMP_OK &&
        stamp_get(p, len, len, &shapes[1], &s[1], &end[1]) == STAMP_OK) {
        fuzz_wire_counts.stamps++;
        CHECK(end[0] <= len && s[0].stream < STAMP_STREAMS && s[0].window < STAMP_WINDOWS);
        CHECK(s[0].time_ns >> STAMP_TIME_BITS == 0);
        CHECK(s[0].number == s[1].number && s[0].flow == s[1].flow && end[0] == end[1]);
    }
    if (stamp_reflect(copy + 1, len, len)) {
        fuzz_wire_counts.reflections++;
        if (stamp_reflect(copy + 1, len, len)) /* not if it came from a group */
            CHECK(memcmp(copy + 1, p, len) == 0);
    } else {
        CHECK(len == 0 || memcmp(copy + 1, p, len) == 0);
    }
    free(copy);
}

static void frame_run(const uint8_t *p, uint32_t len)
{
    struct frame f, torn;
    struct neigh n;
    enum frame_kind kind = frame_parse(p, len, len, &f);

    CHECK(kind == f.kind && kind < FRAME_KINDS);
    fuzz_wire_counts.frames[kind]++;
    if (kind == FRAME_UDP || kind == FRAME_ICMP4 || kind == FRAME_ICMP6) {
        uint8_t *copy = exact_copy(p, f.payload_off);

        CHECK((uint64_t)f.payload_off + f.payload_len <= len && f.l4_off <= f.payload_off);
        if (kind == FRAME_UDP)
            CHECK(frame_parse(copy + 1, f.payload_off, len, &torn) == FRAME_UDP);
        free(copy);
    }
    if (kind == FRAME_UDP) {
        udp_check(p, &f);
        packet_run(p + f.payload_off, f.payload_len);
        data_run_torn(p + f.payload_off, f.payload_len);
    }
    if (neigh_parse(p, len, &f, &n) != NEIGH_NONE)
        neigh_check(&f, &n);
    fuzz_wire_counts.neigh[n.kind]++;
    echo_run(p, len, &f);
    stamp_run(p, len);
}

/* Corrects the checksums that the parsers verify before anything else. */
static void frame_mend(uint8_t *p, uint32_t len)
{
    uint32_t l3 = len > 13 && p[12] == 0x81 && p[13] == 0 ? 18 : 14, header_len;
    struct rte_ipv6_hdr ip6;
    struct frame f;
    uint16_t sum;

    if (len >= l3 + 20 && p[l3] >> 4 == 4) {
        header_len = (p[l3] & 0xfu) * 4;
        if (header_len < 20 || len < l3 + header_len)
            return;
        memset(p + l3 + 10, 0, 2);
        sum = (uint16_t)~rte_raw_cksum(p + l3, header_len);
        memcpy(p + l3 + 10, &sum, sizeof sum);
    }
    frame_parse(p, len, len, &f);
    if (f.kind == FRAME_ICMP6) {
        memset(p + f.l4_off + 2, 0, 2);
        memcpy(&ip6, p + f.l3_off, sizeof ip6);
        sum = (uint16_t)~frame_sum_fold((uint64_t)rte_ipv6_phdr_cksum(&ip6, 0) +
                                        frame_sum(p + f.l4_off, f.payload_len));
        memcpy(p + f.l4_off + 2, &sum, sizeof sum);
    } else if (f.kind == FRAME_ICMP4) {
        memset(p + f.l4_off + 2, 0, 2);
        sum = (uint16_t)~frame_sum_fold(frame_sum(p + f.l4_off, f.payload_len));
        memcpy(p + f.l4_off + 2, &sum, sizeof sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t len = (uint32_t)(size < 70000 ? size : 70000);
    uint8_t *copy = exact_copy(data, len);

    packet_run(copy + 1, len);
    data_run_torn(copy + 1, len);
    frame_run(copy + 1, len);
    frame_mend(copy + 1, len);
    frame_run(copy + 1, len);
    free(copy);
    return 0;
}
