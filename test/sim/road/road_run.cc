// SPDX-License-Identifier: BSD-3-Clause
#include "road_run.hh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

#include "again.hh"
#include "loss_text.hh"
#include "pool.hh"
#include "text.hh"

extern "C" {
#include "base/clock.h"
#include "host/host.h"
#include "path/path.h"
#include "wire/frame.h"
}

namespace
{

constexpr uint16_t kNobodysPort = 7;
constexpr double kTraceBytes = 1500;
constexpr double kS = 1e9;

// All requests under way together hold four times the bytes under way, with those that come between
// two looks of the application.
size_t request_bytes(const Road &r)
{
    double away_ns = r.read_ns + r.stall_rx_ns + r.stall_tx_ns;
    double all = 4 * (r.pipe_bytes() + r.queue_bytes + r.max_bps() / 8 * away_ns / kS);

    return static_cast<size_t>(std::clamp(all / kBulkDepth, 65536.0, 256e6));
}

} // namespace

BulkPools road_pools(const Road &road)
{
    double held = road.pipe_bytes() + road.queue_bytes +
                  road.max_bps() / 8 * (4 * road.stall_rx_ns + road.poll_rx_ns) / kS;
    double frames = held / road.frame_bytes() * 1.5 + 512 * road.flows + 16384;

    return {pool_make("head", 8191 + 256 * static_cast<unsigned>(road.flows),
                      RTE_PKTMBUF_HEADROOM + 1024),
            pool_make("attach", 16383, 0), pool_make("copy", 1023, RTE_PKTMBUF_HEADROOM + 9600),
            pool_make("wire", static_cast<unsigned>(frames),
                      static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + road.frame_bytes() + 80))};
}

const RoadSample &RoadRecord::at(double ns) const
{
    auto after = std::upper_bound(samples.begin(), samples.end(), ns,
                                  [](double t, const RoadSample &s) { return t < s.at_ns; });

    return after == samples.begin() ? *after : *std::prev(after);
}

RoadRun::RoadRun(const Road &road, const RoadPlan &road_plan, const BulkPools &pools, bool sluice)
    : r(road), plan(road_plan), pool(pools), sends(sluice),
      flows(static_cast<uint32_t>(road.flows)), conns(flows), memory(request_bytes(road))
{
    world_config cfg = {};
    double packets = r.pipe_bytes() / r.frame_bytes();
    double gaps =
        64 + (4 * r.loss * packets + 2 * r.max_bps() / 8 * r.jitter_ns / kS / r.frame_bytes()) *
                 std::min(1.0, 2 / r.flows);

    cfg.poll_ns = 100;
    cfg.control_ns = 1000000;
    cfg.frames_max = rte_mempool_avail_count(pool.wire);
    cfg.pool = pool.wire;
    cfg.rx = r.tcp != ROAD_NO_TCP ? rx : nullptr;
    cfg.app = app;
    cfg.ctx = this;
    w = world_create(&cfg);
    began = world_now(w);
    write_bytes = static_cast<size_t>(r.write_share * plan.left_bps(0, plan.end_ns) / 8 / r.flows *
                                      r.write_ns / kS);
    write_bytes = std::clamp<size_t>(write_bytes, 1, memory.size());
    add_receiver(gaps);
    for (uint32_t i = 0; i < flows; i++)
        add_sender(i, gaps);
    if (r.tcp != ROAD_NO_TCP) {
        tcp_host = 1 + flows;
        add_host(tcp_host, "", "", 64);
        competitor = std::make_unique<TcpPair>(w, pool.wire, competitor_options());
    }
    clock_host = 1 + flows + (r.tcp != ROAD_NO_TCP);
    add_host(clock_host, "", "", 64);
    if (host_listen(world_host(w, 0), kBulkService) != 0)
        throw std::runtime_error("listen");
}

// The TCP starts before Sluice, or a third of the settling time after it, as the seed says.
TcpPairOptions RoadRun::competitor_options() const
{
    static const tcp_law_kind laws[] = {TCP_LAWS, TCP_CUBIC, TCP_BBR, TCP_COPA};
    bool first = std::fmod(r.seed, 2) != 0;
    TcpPairOptions o = {};

    o.from = tcp_host;
    o.start = time(first ? 0 : plan.phases[0].look_from_ns / 3);
    o.law = laws[static_cast<int>(r.tcp)];
    o.seed = static_cast<uint64_t>(r.seed);
    o.mtu = r.mtu;
    o.pipe_bytes = r.pipe_bytes() + r.queue_bytes;
    return o;
}

RoadRun::~RoadRun()
{
    over = true;
    if (competitor)
        competitor->stop();
    bulk_end(w, flows);
}

std::string RoadRun::link_text(double bps) const
{
    std::string s = text("rate %.0fbit limit %.0fB", bps, r.queue_bytes);

    if (r.aqm == ROAD_CODEL || r.aqm == ROAD_CODEL_ECN)
        s += text(" codel target %.0fns interval %.0fns", r.aqm_target_ns, 20 * r.aqm_target_ns);
    if (r.aqm == ROAD_RED || r.aqm == ROAD_RED_ECN)
        s += text(" red min %.0fB max %.0fB probability 10%% avpkt %.0f", r.aqm_min_bytes,
                  3 * r.aqm_min_bytes, r.frame_bytes());
    if (r.aqm == ROAD_CODEL_ECN || r.aqm == ROAD_RED_ECN)
        s += " ecn";
    return s;
}

// Writes a trace in Mahimahi's form: a line for each 1500 bytes, with the millisecond at which they
// may be sent.
std::string RoadRun::trace_file()
{
    const char *folder = std::getenv("TMPDIR");
    std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/road.XXXXXX";
    int fd = mkstemp(&path[0]);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : nullptr;
    double due = 0;

    if (f == nullptr)
        throw std::runtime_error("no file for a trace at " + path);
    for (size_t i = 0; i < plan.link.size() && plan.link[i].from_ns < plan.end_ns; i++) {
        double from = plan.link[i].from_ns, each = kTraceBytes * 8e9 / plan.link[i].bps;
        double to = i + 1 < plan.link.size() ? plan.link[i + 1].from_ns : plan.end_ns;
        double at = from + due * each;

        for (; at < to; at += each)
            std::fprintf(f, "%.0f\n", std::max(1.0, std::ceil(at / 1e6)));
        due = (at - to) / each;
    }
    if (std::fclose(f) != 0)
        throw std::runtime_error("no room for a trace at " + path);
    return path;
}

void RoadRun::add_receiver(double gaps)
{
    static const char *const laws[] = {"uniform", "normal", "pareto"};
    std::string down, up;

    if (r.police_bps > 0)
        down += text("police pcr %.0fbit cdvt %.0fns drop ", r.police_bps,
                     r.police_bytes * 8e9 / r.police_bps);
    if (r.trace_ns > 0) {
        trace_path = trace_file();
        down += "trace " + trace_path + text(" limit %.0fB", r.queue_bytes);
    } else {
        down += link_text(r.rate_bps);
    }
    down += text(" delay %.0fns", r.rtt_ns / 2);
    if (r.jitter_ns > 0)
        down += text(" %.0fns distribution %s%s", r.jitter_ns, laws[static_cast<int>(r.law)],
                     r.reorders > 0 ? "" : " order");
    down += loss_text(r.loss, r.loss_run);
    if (r.step > 0)
        down += text(" at %.0fns ", plan.phases.back().event_ns) + link_text(r.rate_bps * r.step);
    if (r.back_bps > 0)
        up += text("rate %.0fbit limit 100 ", r.back_bps);
    up += text("delay %.0fns", r.rtt_ns / 2);
    up += loss_text(r.back_loss, 0);
    add_host(0, up.c_str(), down.c_str(), gaps);
    if (!trace_path.empty())
        unlink(trace_path.c_str());
}

void RoadRun::add_sender(uint32_t i, double gaps)
{
    double own = (r.rtt_of(i) - r.rtt_ns) / 2;
    std::string way = own > 0 ? text("delay %.0fns", own) : "";

    add_host(1 + i, way.c_str(), way.c_str(), gaps);
}

// Adds host i to the world; i is the next number.
void RoadRun::add_host(uint32_t i, const char *up, const char *down, double gaps)
{
    host_config h = bulk_host(i, static_cast<uint64_t>(r.seed), pool);
    world_port port = {};
    char err[200];
    bool receives = i == 0, sender = i > 0 && i <= flows;

    h.mtu = static_cast<uint16_t>(r.mtu);
    h.conns = receives ? flows : 1;
    h.gaps = static_cast<uint32_t>(gaps);
    h.capacity_Bps = receives ? static_cast<uint64_t>(r.host_bps / 8) : 0;
    port.seed = static_cast<uint64_t>(r.seed) * 1000 + i;
    port.caught = true;
    port.up = up;
    port.down = down;
    if (receives) {
        port.spell[WORLD_STALL] = {static_cast<uint64_t>(r.gap_rx_ns),
                                   static_cast<uint64_t>(r.stall_rx_ns)};
        port.poll_spread_ns = static_cast<uint64_t>(r.poll_rx_ns);
        port.ring = static_cast<uint32_t>(r.ring);
    } else if (sender) {
        port.spell[WORLD_STALL] = {static_cast<uint64_t>(r.gap_tx_ns),
                                   static_cast<uint64_t>(r.stall_tx_ns)};
        port.poll_spread_ns = static_cast<uint64_t>(r.poll_tx_ns);
    }
    if (world_add(w, &h, &port, err, sizeof err) < 0)
        throw std::runtime_error(err);
}

void RoadRun::rx(void *ctx, uint32_t i, rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    static_cast<RoadRun *>(ctx)->competitor->rx(i, m, n, now);
}

void RoadRun::app(void *ctx, uint32_t i, host *h, uint64_t now)
{
    RoadRun *s = static_cast<RoadRun *>(ctx);

    if (i == 0)
        s->receive(h, now);
    else if (i <= s->flows)
        s->send(i - 1, h, now);
    if (s->over)
        return;
    if (s->competitor)
        s->competitor->turn(i, now);
    if (i == s->clock_host)
        s->look(now);
}

void RoadRun::start(uint32_t i)
{
    static_cast<BulkConn &>(conns[i]) = bulk_open(w, i, memory);
    conns[i].begun = true;
    conns[i].write_at = world_now(w);
    world_wake(w, i + 1, world_now(w));
}

// Sends all the time, or one write each write_ns. A write without room is left out.
void RoadRun::send(uint32_t i, host *h, uint64_t now)
{
    host_completion done[64];
    Conn &c = conns[i];
    bool in_bursts = r.write_ns > 0;
    uint32_t n;

    while ((n = host_completions(h, done, 64)) > 0)
        for (uint32_t k = 0; k < n; k++)
            c.out -= done[k].op == HOST_SEND && done[k].status == 0;
    if (!c.begun || over)
        return;
    for (; c.out < kBulkDepth && (!in_bursts || now >= c.write_at); c.out++) {
        struct host_send op = {};

        op.pieces[0] = {memory.data(), in_bursts ? write_bytes : memory.size()};
        if (host_send(h, c.own, &op, now) != 0)
            return;
        c.offered += static_cast<double>(op.pieces[0].len);
        c.write_at += static_cast<uint64_t>(r.write_ns);
    }
    if (!in_bursts)
        return;
    for (; c.write_at <= now; c.write_at += static_cast<uint64_t>(r.write_ns))
        continue;
    world_wake(w, i + 1, c.write_at);
}

// Posts buffers again at once, or each read_ns.
void RoadRun::receive(host *h, uint64_t now)
{
    if (r.read_ns > 0 && !over) {
        if (now < read_at)
            return;
        read_at = now + static_cast<uint64_t>(r.read_ns);
        world_wake(w, 0, read_at);
    }
    receive_again(h, memory, now);
}

// Sends frames of cross traffic, evenly spaced while it is on.
void RoadRun::cross(uint64_t now)
{
    double each_ns = r.frame_bytes() * 8e9 / (r.cross * r.rate_bps);
    frame_route route = {};
    segment s = {};

    route.src_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(clock_host)}};
    route.dst_mac = {{2, 0, 0, 0, 0, 0}};
    addr_parse(text("10.0.0.%u", clock_host + 1).c_str(), &route.src);
    addr_parse("10.0.0.1", &route.dst);
    route.vlan = FRAME_VLAN_NONE;
    route.sport = route.dport = kNobodysPort;
    s.data_len = static_cast<uint16_t>(r.mtu - SEGMENT_IP_BYTES);
    while (cross_turn < plan.cross_turns_ns.size() &&
           time(plan.cross_turns_ns[cross_turn]) <= now) {
        cross_at = time(plan.cross_turns_ns[cross_turn]);
        cross_turn++;
    }
    if (cross_turn % 2 == 1) {
        for (; cross_at <= now; cross_at += std::max<uint64_t>(1, static_cast<uint64_t>(each_ns))) {
            rte_mbuf *m = segment_build(pool.wire, &route, &s);

            if (m == nullptr)
                throw std::runtime_error("no memory for others' frames");
            world_emit(w, clock_host, m);
        }
        world_wake(w, clock_host, cross_at);
    }
    if (cross_turn < plan.cross_turns_ns.size())
        world_wake(w, clock_host, time(plan.cross_turns_ns[cross_turn]));
}

// The world calls no host that has nothing to do. The clock's host exists to be called.
void RoadRun::look(uint64_t now)
{
    if (r.cross > 0)
        cross(now);
    if (now >= sample_at) {
        sample();
        sample_at = time(static_cast<double>(record.samples.size()) * plan.sample_ns);
    }
    world_wake(w, clock_host, sample_at);
}

void RoadRun::sample()
{
    RoadSample s = {};
    double headers = r.frame_bytes() - r.payload_bytes();
    path_element_info info;
    const path *down = world_path(w, 0, false);

    s.at_ns = static_cast<double>(world_now(w) - began);
    for (uint32_t e = 0; e < (r.police_bps > 0 ? 2u : 1u); e++) {
        path_element(down, e, &info);
        s.dropped_bytes += static_cast<double>(info.counts->dropped_bytes);
        s.queue_bytes =
            std::max(0.0, static_cast<double>(info.counts->queued_bytes) - r.frame_bytes());
    }
    s.stalled_ns = static_cast<double>(world_counts(w)->stalled_ns);
    if (competitor)
        s.tcp_bytes = static_cast<double>(competitor->data_bytes()) * r.frame_bytes() /
                      (r.mtu - SEGMENT_IP_BYTES);
    for (const Conn &c : conns) {
        struct host_conn_info f = {};

        s.offered_bytes += c.offered;
        if (c.begun)
            host_conn_info(world_host(w, 0), c.peer, &f);
        s.flows.push_back(
            {static_cast<double>(f.rx_bytes) + headers * static_cast<double>(f.rx_units),
             static_cast<double>(f.rx_rate_Bps), f.rx_reason,
             !c.begun || f.state == HOST_OPEN || f.state == HOST_WAITING});
    }
    record.samples.push_back(std::move(s));
}

const RoadRecord &RoadRun::run()
{
    std::vector<std::pair<uint64_t, uint32_t>> starts;
    double apart = r.longest_rtt_ns() / r.flows;

    for (const RoadPhase &p : plan.phases)
        for (uint32_t i = static_cast<uint32_t>(starts.size()); sends && i < p.active; i++)
            starts.emplace_back(time(p.event_ns + (p.event_ns > 0 ? 0 : i * apart)), i);
    sample_at = began;
    for (auto [at, i] : starts) {
        world_run(w, at);
        start(i);
    }
    world_run(w, time(plan.end_ns + plan.sample_ns));
    for (uint32_t i = 0; i < flows && sends; i++) {
        struct host_conn_info f = {};

        host_conn_info(world_host(w, 0), conns[i].peer, &f);
        record.units += static_cast<double>(f.rx_units);
        record.duplicates += static_cast<double>(f.rx_duplicates);
        record.lost += static_cast<double>(f.rx_lost);
    }
    return record;
}
