// SPDX-License-Identifier: BSD-3-Clause
#include "trace.hh"

#include <cstdio>
#include <cstdlib>

extern "C" {
#include "wire/frame.h"
#include "wire/packet.h"
}

namespace
{

void flags_print(uint8_t flags)
{
    static const char *const name[] = {"SREQ", "DREQ", "WCLOSE", "RCLOSE",
                                       "END",  "PACK", "EARLY",  "REPEAT"};

    for (int i = 0; i < 8; i++)
        if (flags & 1 << i)
            std::printf(" %s", name[i]);
}

void data_print(const uint8_t *p, uint32_t len)
{
    wire_data d;

    if (wire_parse_data(p, len, len, &d) != WIRE_OK)
        return;
    std::printf(" packet %lu unit %x.%u seen %u", d.packet, d.request, d.unit, d.cntl_seen);
    flags_print(d.h.flags);
}

void cntl_print(const uint8_t *p, uint32_t len)
{
    wire_cntl c;

    if (wire_parse_cntl(p, len, &c) != WIRE_OK)
        return;
    std::printf(" seq %u seen %u ack %lx posted %x sent %lx rate %lu burst %u end %u", c.seq,
                c.cntl_seen, c.ack, c.posted, c.sent, c.rate_Bps, c.burst_bytes, c.end);
    for (uint32_t i = 0; i < c.span_count; i++)
        std::printf(" [%lx,%lx)", c.spans[i].first, c.spans[i].end);
    flags_print(c.h.flags);
}

} // namespace

void trace_frame(uint32_t from, const rte_mbuf *m, uint64_t now, const world_fate &fate)
{
    static const bool wanted = std::getenv("SLUICE_TRACE") != nullptr;
    static const char *const type[] = {"?", "FIRST", "DATA", "CNTL", "RCNTL"};
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct frame f;
    wire_header h;

    if (!wanted)
        return;
    std::printf("%.6f host %u, %u copies", double(now) / 1e9, from, fate.copies);
    if (fate.extra_ns[0] > 0)
        std::printf(" %lu ns late", fate.extra_ns[0]);
    frame_parse(p, m->data_len, m->pkt_len, &f);
    const uint8_t *q = p + f.payload_off;

    if (f.kind != FRAME_UDP || wire_parse_header(q, f.payload_len, &h) != WIRE_OK) {
        std::printf(": kind %d\n", f.kind);
        return;
    }
    std::printf(": %s", type[h.type]);
    if (h.type == WIRE_DATA)
        data_print(q, f.payload_len);
    else if (h.type == WIRE_CNTL)
        cntl_print(q, f.payload_len);
    std::printf("\n");
}
