// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_pair.hh"

#include <stdexcept>
#include <utility>

#include "text.hh"

namespace
{

constexpr uint16_t kTcpPort = 40000; // and the number of the sender's host

} // namespace

TcpPair::TcpPair(world *in, rte_mempool *frames, const TcpPairOptions &o)
    : w(in), pool(frames), sender_at(o.from), receiver_at(o.to),
      port(static_cast<uint16_t>(kTcpPort + o.from)), ends(std::make_unique<Ends>())
{
    tcp_config t = {};
    tcp_receiver_config r = {};

    t.route.src_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(o.from)}};
    t.route.dst_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(o.to)}};
    addr_parse(text("10.0.0.%u", o.from + 1).c_str(), &t.route.src);
    addr_parse(text("10.0.0.%u", o.to + 1).c_str(), &t.route.dst);
    t.route.vlan = FRAME_VLAN_NONE;
    t.route.sport = t.route.dport = port;
    t.hz = WORLD_HZ;
    t.start = o.start;
    t.mss_bytes = static_cast<uint16_t>(o.mtu - SEGMENT_IP_BYTES);
    t.law = o.law;
    t.no_hystart = !o.hystart;
    t.seed = o.seed * 1000 + o.from;
    t.window_segments = tcp_window(static_cast<uint64_t>(2 * o.pipe_bytes / t.mss_bytes));
    ends->flight.resize(t.window_segments);
    t.flight = ends->flight.data();
    r.route = t.route;
    std::swap(r.route.src_mac, r.route.dst_mac);
    std::swap(r.route.src, r.route.dst);
    r.hz = WORLD_HZ;
    t.pool = r.pool = pool;
    tcp_init(&ends->sender, &t);
    tcp_receiver_init(&ends->receiver, &r);
}

void TcpPair::rx(uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    if (over || (i != sender_at && i != receiver_at))
        return;
    for (uint16_t k = 0; k < n; k++) {
        const uint8_t *bytes = rte_pktmbuf_mtod(m[k], const uint8_t *);
        frame f;

        if (frame_parse(bytes, m[k]->data_len, m[k]->pkt_len, &f) != FRAME_UDP || f.dport != port)
            continue;
        rte_mbuf *copy = rte_pktmbuf_copy(m[k], pool, 0, UINT32_MAX);

        if (copy == nullptr)
            throw std::runtime_error("no memory for a TCP's frame");
        if (i == receiver_at)
            tcp_receiver_rx(&ends->receiver, &copy, 1, now);
        else
            tcp_rx(&ends->sender, &copy, 1, now);
    }
}

void TcpPair::turn(uint32_t i, uint64_t now)
{
    rte_mbuf *m[32];

    if (over || (i != sender_at && i != receiver_at))
        return;
    const node at = i == sender_at ? tcp_node(&ends->sender) : tcp_receiver_node(&ends->receiver);

    while (at.next(at.self, now) <= now)
        for (uint16_t k = 0, n = at.tx(at.self, m, 32, now); k < n; k++)
            world_emit(w, i, m[k]);
    if (at.next(at.self, now) != TIME_NEVER)
        world_wake(w, i, at.next(at.self, now));
}
