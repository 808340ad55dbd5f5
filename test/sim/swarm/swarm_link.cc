// SPDX-License-Identifier: BSD-3-Clause
// The faults that a swarm's world gives to frames under way, and its view of these frames.
#include <algorithm>
#include <cstring>

#include "swarm.hh"

extern "C" {
#include "base/clock.h"
#include "path/path.h"
}

namespace
{

constexpr uint32_t kFlipFrom = 14; // the port's FCS protects the Ethernet header
constexpr size_t kOldMax = 8;
constexpr uint32_t kOldMaxBytes = 9018; // an mbuf holds such a frame, and what a forger adds
constexpr uint64_t kNoVerdict = 4; // one in so many frames comes without a verdict on its checksum

} // namespace

void Swarm::mix(uint64_t now, uint32_t host, const rte_mbuf *m)
{
    constexpr uint64_t kPrime = 0x100000001b3ull;
    WholeFrame whole(m);
    const uint8_t *p = whole.data();
    uint64_t h = digest, v;
    uint32_t i = 0;

    h = (h ^ now) * kPrime;
    h = (h ^ host) * kPrime;
    for (; i + 8 <= whole.size(); i += 8) {
        std::memcpy(&v, p + i, 8);
        h = (h ^ v ^ h >> 31) * kPrime;
    }
    for (; i < whole.size(); i++)
        h = (h ^ p[i]) * kPrime;
    digest = h;
}

// Computes the checksum that the host has left to the port.
void Swarm::offload(rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct frame f;

    if (!(m->ol_flags & RTE_MBUF_F_TX_UDP_CKSUM))
        return;
    m->ol_flags = 0;
    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP)
        return;
    frame_route r = {};

    r.src_mac = f.src_mac;
    r.dst_mac = f.dst_mac;
    r.vlan = f.vlan;
    r.src = f.src;
    r.dst = f.dst;
    r.sport = f.sport;
    r.dport = f.dport;
    frame_set_udp_sum(p, &r, f.payload_len,
                      frame_sum(WholeFrame(m).data() + f.payload_off, f.payload_len));
}

void Swarm::flip(rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

    if (p[12] == 0x08 && p[13] == 0x06)
        return; // ARP has no checksum
    uint64_t bit = rng_below(&rng, (m->pkt_len - kFlipFrom) * 8ull), byte = kFlipFrom + bit / 8;

    for (; byte >= m->data_len; m = m->next)
        byte -= m->data_len;
    *rte_pktmbuf_mtod_offset(m, uint8_t *, byte) ^= static_cast<uint8_t>(1u << (bit % 8));
    hits[FAULT_CORRUPT]++;
}

// A router on the path writes its limits into a CNTL.
void Swarm::lower_grant(rte_mbuf *m)
{
    uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
    struct frame f;
    wire_cntl v;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_cntl(p + f.payload_off, f.payload_len, &v) != WIRE_OK)
        return;
    uint64_t rate_Bps = 500000 + rng_below(&rng, 100000000);
    uint32_t burst_bytes = static_cast<uint32_t>(rng_below(&rng, 60000));
    uint16_t expiry_ms = static_cast<uint16_t>(rng_below(&rng, 200));

    wire_lower_cntl(p + f.payload_off, rate_Bps, burst_bytes, expiry_ms);
    hits[FAULT_ROUTER]++;
    if (f.udp_sum != 0) {
        m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
        offload(m);
    }
}

void Swarm::decide_losses(uint32_t from, world_fate *f)
{
    const LinkPlan &l = plan.link;

    if (chance(l.loss)) {
        f->copies = 0;
        hits[FAULT_LOSS]++;
    }
    if (chance(in_loss[from] ? l.burst_leave : l.burst_enter))
        in_loss[from] = !in_loss[from];
    if (in_loss[from] && f->copies > 0) {
        f->copies = 0;
        hits[FAULT_LOSS_BURSTS]++;
    }
}

void Swarm::decide(uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f)
{
    const LinkPlan &l = plan.link;

    offload(m);
    mix(now, from, m);
    if (!calm && !plan.paths)
        decide_losses(from, f);
    if (capture.is_open())
        capture.frame(from, true, now, WholeFrame(m), f->copies == 0 ? "lost" : nullptr);
    if (calm || plan.paths || f->copies == 0)
        return;
    if (chance(l.twice)) {
        f->copies = 2;
        f->extra_ns[1] = chance(600) ? rng_below(&rng, 8 * plan.delay_ns) : 0;
        hits[FAULT_DUPLICATE]++;
    }
    if (chance(l.late)) {
        f->extra_ns[0] = rng_below(&rng, 1 + l.late_max_ns);
        hits[FAULT_DISPLACE]++;
    }
    if (plan.on[FAULT_ROUTER] && chance(100))
        lower_grant(m);
    if (chance(l.flips))
        flip(m);
}

void Swarm::fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f)
{
    static_cast<Swarm *>(ctx)->decide(from, m, now, f);
}

void Swarm::made(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    Swarm *s = static_cast<Swarm *>(ctx);

    for (uint16_t k = 0; k < n; k++)
        s->watch->made(i, m[k], now);
}

void Swarm::rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    Swarm *s = static_cast<Swarm *>(ctx);
    bool offload = s->plan.hosts[i].cfg.rx_sum == HOST_SUM_OFFLOAD;

    if (n == 0) {
        s->placement->after();
        return;
    }
    for (uint16_t k = 0; k < n; k++) {
        WholeFrame whole(m[k]);
        Seen seen = s->watch->see(whole.data(), whole.size(), whole.size(), true);

        s->mix(now, i, m[k]);
        if (s->capture.is_open())
            s->capture.frame(i, false, now, whole, nullptr);
        m[k]->ol_flags = 0;
        if (offload && seen.sluice && rng_below(&s->rng, kNoVerdict) != 0)
            m[k]->ol_flags = seen.valid ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
        s->watch->given(i, m[k], seen, now);
        s->placement->before(i, seen);
        if (s->plan.on[FAULT_NOISE] && !s->calm && seen.valid && whole.size() <= kOldMaxBytes) {
            const uint8_t *p = whole.data();
            auto &old = s->old[i];

            if (old.size() < kOldMax)
                old.emplace_back(p, p + whole.size());
            else
                old[rng_below(&s->rng, kOldMax)].assign(p, p + whole.size());
        }
    }
}

void Swarm::app(void *ctx, uint32_t i, host *, uint64_t now)
{
    static_cast<Swarm *>(ctx)->users->run(i, now);
}

// ---- noise and routers -------------------------------------------------------------------------

void Swarm::make_noise()
{
    const SwarmPools &pools = SwarmPools::get();
    const std::deque<Watch::Conn> &conns = watch->all();

    if (conns.empty())
        return;
    for (uint64_t n = rng_below(&rng, 12); n > 0; n--) {
        const Watch::Conn &c = conns[rng_below(&rng, conns.size())];
        uint32_t to = static_cast<uint32_t>(rng_below(&rng, 2));
        const host_config &h = plan.hosts[c.side[to].host].cfg;
        const host_config &peer = plan.hosts[c.side[1 - to].host].cfg;
        Forger::Target t = {h.mac, h.address[plan.ipv6], peer.address[plan.ipv6], c.side[to].key,
                            old[c.side[to].host]};
        rte_mbuf *m = rte_pktmbuf_alloc(plan.mtu_max <= 1500 ? pools.small : pools.large);

        if (t.key == 0 || m == nullptr || old[c.side[to].host].size() < 2) {
            rte_pktmbuf_free(m);
            continue;
        }
        std::vector<uint8_t> f = forger.frame(t);

        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(f.size())), f.data(), f.size());
        world_inject(w, c.side[to].host, m);
        hits[FAULT_NOISE]++;
    }
}

// A router on the path to one side of some connection limits that side.
void Swarm::speak_as_router()
{
    const SwarmPools &pools = SwarmPools::get();
    const std::deque<Watch::Conn> &conns = watch->all();

    if (conns.empty())
        return;
    const Watch::Conn &c = conns[rng_below(&rng, conns.size())];
    uint32_t to = static_cast<uint32_t>(rng_below(&rng, 2));
    const host_config &h = plan.hosts[c.side[to].host].cfg;
    const host_config &peer = plan.hosts[c.side[1 - to].host].cfg;
    frame_route route = {};
    wire_rcntl v = {};
    uint8_t bytes[WIRE_RCNTL_BYTES];

    if (c.side[to].key == 0)
        return;
    route.src_mac = peer.mac;
    route.dst_mac = h.mac;
    route.vlan = FRAME_VLAN_NONE;
    route.src = peer.address[plan.ipv6];
    route.dst = h.address[plan.ipv6];
    route.sport = route.dport = WIRE_UDP_PORT;
    v.h.key = c.side[to].key;
    v.rate_Bps = rng_below(&rng, 8) == 0 ? 0 : 500000 + rng_below(&rng, 100000000);
    v.burst_bytes = static_cast<uint32_t>(chance(500) ? rng_below(&rng, 60000) : 0);
    v.expiry_ms = static_cast<uint16_t>(1 + rng_below(&rng, 100));
    v.hop = 1;
    v.time_ns = world_now(w);
    uint32_t len = wire_put_rcntl(bytes, &v);
    uint16_t head = frame_header_len(&route);
    rte_mbuf *m = rte_pktmbuf_alloc(plan.mtu_max <= 1500 ? pools.small : pools.large);

    if (m == nullptr)
        return;
    uint8_t *at =
        reinterpret_cast<uint8_t *>(rte_pktmbuf_append(m, static_cast<uint16_t>(head + len)));

    frame_put(at, &route, len);
    std::memcpy(at + head, bytes, len);
    frame_set_udp_sum(at, &route, len, frame_sum(bytes, len));
    world_inject(w, c.side[to].host, m);
    hits[FAULT_ROUTER]++;
}

// ---- faults that have hit ----------------------------------------------------------------------

uint64_t Swarm::counter(uint32_t i, const char *name) const
{
    return host_counter_named(world_host(w, i), name);
}

uint64_t Swarm::counters(const char *name) const
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < plan.hosts.size(); i++)
        sum += counter(i, name);
    return sum;
}

void Swarm::take_path_hits()
{
    for (uint32_t i = 0; i < 2 * plan.hosts.size(); i++) {
        const struct path *p = world_path(w, i / 2, i % 2 == 0);
        struct path_element_info e;

        for (uint32_t k = 0; p != nullptr && path_element(p, k, &e); k++) {
            std::string kind = e.kind, words = e.text;
            bool managed = words.find("codel") != words.npos || words.find("red") != words.npos;

            if (kind == "loss")
                hits[words.find("gemodel") != words.npos ? FAULT_LOSS_BURSTS : FAULT_LOSS] +=
                    e.counts->dropped;
            else if (kind == "corrupt")
                hits[FAULT_CORRUPT] += e.counts->changed;
            else if (kind == "duplicate")
                hits[FAULT_DUPLICATE] += e.counts->copied;
            else if (kind == "delay")
                hits[FAULT_DISPLACE] += e.counts->reordered;
            else if (kind == "rate")
                hits[managed ? FAULT_AQM : FAULT_QUEUE] += e.counts->dropped;
            else if (kind == "police")
                hits[FAULT_POLICE] += e.counts->dropped;
            else if (kind == "slot")
                hits[FAULT_SLOT] += e.counts->out_packets;
            else if (kind == "receiver")
                hits[FAULT_RECEIVER] += e.counts->dropped;
            else if (kind == "hop")
                hits[FAULT_ROUTER] += e.counts->changed + e.counts->copied;
        }
    }
}

void Swarm::take_hits()
{
    const struct world_counts *c = world_counts(w);
    uint64_t missed = 0, no_mbuf = 0, unequal = 0;

    for (uint32_t i = 0; i < plan.hosts.size(); i++) {
        missed += world_port_counters(w, i)->imissed;
        no_mbuf += world_port_counters(w, i)->rx_nombuf;
    }
    for (const TalkPlan &t : plan.talks)
        unequal += plan.hosts[t.end[0].host].cfg.mtu != plan.hosts[t.end[1].host].cfg.mtu;
    const struct {
        Fault fault;
        uint64_t n;
    } sources[] = {
        {FAULT_QUEUE, plan.paths ? 0 : c->overflowed},
        {FAULT_CUT, c->cut},
        {FAULT_SILENCE, users->timed_out},
        {FAULT_POLL_GAPS, c->polls},
        {FAULT_STALL, c->spells[WORLD_STALL]},
        {FAULT_RING, missed},
        {FAULT_RX_NO_MBUF, no_mbuf},
        {FAULT_TX_REFUSED, c->refused},
        {FAULT_TX_GIVEN_UP, c->given_up},
        {FAULT_HEADS_OUT, c->spells[WORLD_HEADS_OUT] > 0 ? counters("tx_no_mbuf") : 0},
        {FAULT_BODIES_OUT, c->spells[WORLD_BODIES_OUT] > 0 ? counters("tx_no_mbuf") : 0},
        {FAULT_CONTROL_STALL, c->spells[WORLD_CONTROL_STALL]},
        {FAULT_LATE_POST, counters("drop_unposted")},
        {FAULT_SHORT_BUFFER, users->short_buffers},
        {FAULT_FEW_GAPS, counters("drop_no_room")},
        {FAULT_UNEQUAL_MTU, unequal},
        {FAULT_EARLY_OFF, counters("drop_early_off")},
        {FAULT_ABORT, users->aborts},
        {FAULT_NOBODY, users->refused},
        {FAULT_NO_ACCEPT, counters("drop_no_accept")},
        {FAULT_COOKIE, counters("drop_no_cookie")},
    };

    for (const auto &s : sources)
        hits[s.fault] += s.n;
}

void Swarm::count(Tally *t) const
{
    t->seeds++;
    for (int f = 0; f < FAULTS; f++) {
        uint64_t n = plan.on[f] ? hits[f] : 0;

        t->on[f] += plan.on[f];
        t->hit[f] += n > 0;
        t->hits[f] += n;
    }
    t->packets += packets;
    t->units += watch->units;
    t->repeats += watch->repeats;
    t->bytes += users->bytes;
    t->connections += plan.talks.size();
    t->failed += users->failed;
    t->naks += watch->naks;
    t->placed += placement->placed;
    t->paced += watch->paced;
    t->again += placement->again;
    t->virtual_ns += virtual_ns;
}
