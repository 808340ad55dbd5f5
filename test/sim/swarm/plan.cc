// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hh"

#include <algorithm>
#include <cstdio>

#include "text.hh"

extern "C" {
#include "base/clock.h"
#include "wire/frame.h"
#include "wire/limits.h"
}

namespace
{

constexpr uint64_t kUs = 1000, kMs = 1000000, kSecond = 1000000000;
constexpr uint64_t kKindOn = 350; // of 1000 seeds have a kind, unless it is made rarer below
constexpr uint32_t kRequestsMax = 24;
constexpr uint32_t kTalksMax = 40;

addr host_address(bool ipv6, uint32_t i)
{
    addr a;

    addr_parse(text(ipv6 ? "fd00::%x" : "10.0.0.%u", i + 1).c_str(), &a);
    return a;
}

} // namespace

uint64_t Plan::scale(uint64_t least, uint64_t most)
{
    uint64_t octaves = 0;

    while (least << (octaves + 1) <= most)
        octaves++;
    uint64_t low = least << below(octaves + 1);

    return std::min(most, low + below(low));
}

Plan::Plan(uint64_t s) : seed(s)
{
    rng_init(&rng, seed);
    choose_faults();
    choose_network();
    choose_link();
    uint64_t n = below(4) == 0 ? between(2, kSwarmHosts) : between(2, 4);

    for (uint32_t i = 0; i < n; i++)
        add_host(i);
    uint64_t talks = std::min<uint64_t>(kTalksMax, between(1, 3 * n));
    uint64_t packets = scale(512, mtu_max <= 9000 ? 16000 : 2000); // about as many bytes

    request_bytes = packets * mtu_max / talks;
    for (uint64_t i = 0; i < talks; i++)
        add_talk();
    choose_security();
}

// Each seed does without most kinds of faults: two kinds alone find errors that all of them
// together hide.
void Plan::choose_faults()
{
    for (int f = 0; f < FAULTS; f++)
        on[f] = below(1000) < kKindOn;
    if (below(12) == 0)
        std::fill(on, on + FAULTS, false);
    // these end connections, so they are rarer: most seeds must demand success
    on[FAULT_SILENCE] = on[FAULT_SILENCE] && below(2) == 0;
    on[FAULT_ABORT] = on[FAULT_ABORT] && below(2) == 0;
    on[FAULT_TX_REFUSED] = on[FAULT_TX_REFUSED] || on[FAULT_TX_GIVEN_UP];
    paths = below(3) != 0;
    for (Fault f : {FAULT_AQM, FAULT_POLICE, FAULT_SLOT, FAULT_RECEIVER})
        on[f] = on[f] && paths && below(2) == 0;
}

void Plan::choose_network()
{
    static const uint16_t mtus[] = {1280, 1500, 1500, 1500, 4000, 9000, 40960, 65535};

    ipv6 = below(3) == 0;
    mtu_max = mtus[below(8)];
    delay_ns = below(4) == 0 ? scale(1 * kUs, 30 * kMs) : scale(1 * kUs, 500 * kUs);
    poll_ns = scale(100, 4000);
    rate_Bps = queue_ns = 0;
    if (on[FAULT_QUEUE] || on[FAULT_AQM] || below(2) == 0)
        rate_Bps = scale(2000000, 1250000000);
    if (on[FAULT_QUEUE])
        queue_ns = scale(20 * kUs, 20 * kMs);
    // without control, a rate that a slow link cannot carry is never lowered
    bool slow = rate_Bps != 0 || on[FAULT_POLICE] || on[FAULT_RECEIVER];
    control_ns = below(2) != 0 || slow || on[FAULT_CONTROL_STALL] ? between(1, 4) * kMs / 2 : 0;
    sums = on[FAULT_CORRUPT] || on[FAULT_NOISE] || below(4) != 0;
    calm_ns = scale(200 * kMs, 12 * kSecond);
    silence_max_ns = 0;
    floor_ns = delay_ns;
    if (paths) // jitter takes up to half of each delay; reordered frames may have no delay at all
        floor_ns = on[FAULT_DISPLACE] ? 0 : delay_ns / kUs / 2 * kUs;
}

void Plan::choose_link()
{
    if (on[FAULT_LOSS])
        link.loss = scale(1, 200);
    if (on[FAULT_LOSS_BURSTS]) {
        link.burst_enter = scale(1, 30);
        link.burst_leave = between(50, 500);
    }
    if (on[FAULT_DUPLICATE])
        link.twice = scale(1, 200);
    if (on[FAULT_DISPLACE]) {
        link.late = scale(1, 300);
        link.late_max_ns = scale(1 * kUs, 8 * delay_ns + 100 * kUs);
    }
    if (on[FAULT_CORRUPT])
        link.flips = scale(1, 60);
}

// Drawn last, so that all else is the same with and without it. Handshakes need a control core.
void Plan::choose_security()
{
    sealed = below(4) == 0 && control_ns != 0;
    for (HostPlan &h : hosts) {
        h.cfg.security = sealed ? HOST_SECURITY_REQUIRED : HOST_SECURITY_NONE;
        h.cfg.secured_max = static_cast<uint32_t>(hosts.size());
    }
}

// The path between a host and the switch, in one direction.
std::string Plan::path_text(bool down)
{
    std::string s;
    uint64_t delay_us = delay_ns / kUs / 2, jitter_us = below(2) * (delay_us / 2);
    auto tenths = [](uint64_t permille) { return text("%lu.%lu%%", permille / 10, permille % 10); };
    auto some = [&](Fault f) { return on[f] && below(2) == 0; };

    if (some(FAULT_LOSS))
        s += "loss " + tenths(scale(1, 150)) + " ";
    if (some(FAULT_LOSS_BURSTS)) {
        uint64_t enter = scale(1, 30), leave = between(50, 500);
        s += "loss gemodel " + tenths(enter) + " " + tenths(leave) + " ";
    }
    if (!down && some(FAULT_CORRUPT)) // two flips in a frame can cancel out in UDP's checksum
        s += "corrupt " + tenths(scale(1, 40)) + " ";
    if (some(FAULT_DUPLICATE))
        s += "duplicate " + tenths(scale(1, 150)) + " ";
    // draws are statements of their own, since compilers evaluate arguments in any order
    if (some(FAULT_RECEIVER)) {
        uint64_t kbit = scale(20000, 2000000), limit = scale(4, 64), stall_us = scale(100, 10000);
        s += text("receiver %lukbit stall %luus limit %lu ", kbit, stall_us, limit);
    }
    if (some(FAULT_POLICE)) {
        uint64_t kbit = scale(20000, 2000000), cdvt_us = scale(20, 5000);
        s += text("police pcr %lukbit cdvt %luus drop ", kbit, cdvt_us);
    }
    if (some(FAULT_SLOT)) {
        uint64_t min_us = scale(10, 200), max_us = scale(200, 5000);
        s += text("slot %luus %luus ", min_us, max_us);
    }
    if (rate_Bps != 0) {
        uint64_t limit = on[FAULT_QUEUE] ? scale(4, 500) : 4000;
        s += text("rate %lukbit limit %lu ", rate_Bps / 125 + 1, limit);
    }
    if (rate_Bps != 0 && some(FAULT_AQM)) {
        bool codel = below(2) == 0;
        uint64_t least = scale(50, 5000), most = scale(5000, 100000);
        s += codel ? text("codel target %luus interval %luus ", least, most)
                   : text("red min %luB max %luB ", 5 * least, 5000 + 5 * least + most);
    }
    if (!down && some(FAULT_ROUTER)) {
        uint64_t kbit = scale(4000, 400000), burst_kb = scale(2, 60), expiry_ms = scale(1, 500);
        bool rcntl = below(2) == 0;
        s += text("hop %lukbit burst %lukB expiry %lu%s ", kbit, burst_kb, expiry_ms,
                  rcntl ? " rcntl" : "");
    }
    if (delay_us > 0)
        s += text("delay %luus %luus ", delay_us, jitter_us);
    if (delay_us > 0 && some(FAULT_DISPLACE))
        s += "reorder " + tenths(scale(1, 200)) + " ";
    return s;
}

void Plan::choose_troubles(world_port *p)
{
    auto spell = [&](world_trouble t, Fault f, uint64_t least, uint64_t most) {
        if (!on[f] || (t != WORLD_CUT && below(3) == 0))
            return;
        uint64_t length = scale(least, most);
        p->spell[t] = {length * between(4, 60), length};
    };

    spell(WORLD_STALL, FAULT_STALL, 50 * kUs, 60 * kMs);
    spell(WORLD_TX_REFUSED, FAULT_TX_REFUSED, 5 * kUs, 10 * kMs);
    spell(WORLD_RX_NO_MBUF, FAULT_RX_NO_MBUF, 5 * kUs, 10 * kMs);
    spell(WORLD_HEADS_OUT, FAULT_HEADS_OUT, 5 * kUs, 20 * kMs);
    spell(WORLD_BODIES_OUT, FAULT_BODIES_OUT, 5 * kUs, 20 * kMs);
    spell(WORLD_CONTROL_STALL, FAULT_CONTROL_STALL, 5 * kMs, 300 * kMs);
    spell(WORLD_CUT, FAULT_CUT, 100 * kUs, 100 * kMs);
    if (on[FAULT_SILENCE] && below(2) == 0)
        p->spell[WORLD_CUT] = {scale(5 * kMs, 500 * kMs), 30 * kSecond};
    p->keep_ns = on[FAULT_TX_GIVEN_UP] ? scale(1 * kUs, 2 * kMs) : kSecond;
    if (on[FAULT_POLL_GAPS])
        p->poll_spread_ns = scale(1 * kUs, 300 * kUs);
    if (on[FAULT_RING])
        p->ring = static_cast<uint32_t>(scale(2, 128));
    p->burst = static_cast<uint16_t>(below(2) == 0 ? 32 : between(1, 32));
    p->poll_ns = scale(100, 4000);
}

void Plan::add_host(uint32_t i)
{
    HostPlan h = {};
    host_config &c = h.cfg;

    std::snprintf(c.name, sizeof c.name, "host%u", i);
    c.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}};
    c.address[ipv6] = host_address(ipv6, i);
    c.prefix_len[ipv6] = ipv6 ? 64 : 24;
    c.vlan = FRAME_VLAN_NONE;
    c.mtu = on[FAULT_UNEQUAL_MTU] ? static_cast<uint16_t>(between(1280, mtu_max)) : mtu_max;
    c.udp_port = WIRE_UDP_PORT;
    c.workers = 1;
    c.secrets = world_secrets(rng_u64(&rng), 0);
    c.conns = 2 * kTalksMax;
    c.depth = 1u << between(1, 5);
    c.gaps = static_cast<uint32_t>(on[FAULT_FEW_GAPS] ? between(2, 12) : scale(16, 128));
    c.ahead = static_cast<uint32_t>(below(3) == 0 ? below(4) : 0);
    c.early = static_cast<uint32_t>(on[FAULT_EARLY_OFF] && below(2) == 0 ? 0 : between(1, 16));
    c.silence_ms = static_cast<uint32_t>(between(2000, 6000));
    silence_max_ns = std::max(silence_max_ns, c.silence_ms * kMs);
    c.repeat_us = static_cast<uint32_t>(scale(200, 5000));
    c.first_rate_Bps = scale(1000000, 1000000000);
    c.first_burst_bytes = scale(2000, 100000);
    c.capacity_Bps = below(2) == 0 ? 0 : scale(2000000, 500000000);
    c.burst_bytes = below(4) == 0 ? scale(2000, 100000) : 0;
    if (below(5) == 0) {
        c.contract.pcr_Bps = scale(2000000, 500000000);
        c.contract.cdvt_ns = below(2) == 0 ? 0 : scale(100, 1 * kMs);
        c.contract.scr_Bps = below(2) == 0 ? 0 : c.contract.pcr_Bps / between(1, 4);
        if (c.contract.scr_Bps != 0)
            c.contract.mbs_bytes = std::max(scale(20000, 200000), mtu_max + 18ul); // a frame fits
    }
    c.tx_sum = !sums ? HOST_SUM_NONE : below(3) == 0 ? HOST_SUM_OFFLOAD : HOST_SUM_SOFTWARE;
    c.rx_sum = !sums ? HOST_SUM_NONE : below(3) == 0 ? HOST_SUM_OFFLOAD : HOST_SUM_SOFTWARE;
    c.tx_attach = below(3) != 0;
    h.port.seed = rng_u64(&rng);
    if (h.port.seed % 2 == 0) // not another draw, which would change all that follow
        h.port.nap_max_ns = kUs << h.port.seed / 2 % 11;
    if (paths) {
        h.up = path_text(false);
        h.down = path_text(true);
    }
    choose_troubles(&h.port);
    hosts.push_back(h);
}

// Adds the requests of one side, and the buffers that the other side has for them.
void Plan::add_requests(TalkPlan *t, uint32_t side, uint64_t bytes)
{
    EndPlan &from = t->end[side], &to = t->end[1 - side];
    uint64_t n = below(kRequestsMax + 1);

    for (uint64_t r = 0; r < n; r++) {
        uint64_t len = below(8) == 0 ? 0 : below(4) == 0 ? below(2000) : below(2 * bytes / n + 1);
        bool provisional = below(5) == 0;
        uint64_t tail = provisional ? below(len + 1) : below(6) == 0 ? below(len + 1) : 0;

        from.sends.push_back({len, provisional, tail});
        if (on[FAULT_SHORT_BUFFER] && len > 0 && below(8) == 0)
            to.buffers.push_back(below(len));
        else
            to.buffers.push_back(len + (below(3) == 0 ? below(200) : 0));
    }
    for (uint64_t surplus = 1 + below(3); surplus > 0; surplus--)
        to.buffers.push_back(below(3000));
}

void Plan::add_talk()
{
    TalkPlan t = {};
    uint32_t from = static_cast<uint32_t>(below(hosts.size()));
    uint32_t to = static_cast<uint32_t>(below(hosts.size() - 1));

    t.end[0].host = from;
    t.end[1].host = to >= from ? to + 1 : to;
    t.go_back_n = below(3) == 0;
    t.nobody = on[FAULT_NOBODY] && below(6) == 0;
    uint64_t spread = on[FAULT_COOKIE] ? 20 * kUs : 50 * kMs;
    t.end[0].start_ns = below(spread);
    t.end[1].start_ns = on[FAULT_NO_ACCEPT] && below(2) == 0 ? scale(1 * kMs, 100 * kMs) : 0;
    add_requests(&t, 0, request_bytes / 2);
    add_requests(&t, 1, request_bytes / 2);
    for (EndPlan &e : t.end) {
        uint32_t depth = hosts[e.host].cfg.depth;

        e.window = static_cast<uint32_t>(between(1, depth));
        e.recv_gap_ns = on[FAULT_LATE_POST] && below(2) == 0 ? scale(10 * kUs, 20 * kMs) : 0;
        e.send_gap_ns = below(4) == 0 ? scale(10 * kUs, 10 * kMs) : 0;
        if (on[FAULT_ABORT] && below(4) == 0)
            e.abort_ns = scale(10 * kUs, 500 * kMs);
    }
    talks.push_back(std::move(t));
}

std::string Plan::about() const
{
    char head[300];
    std::string s;
    uint64_t requests = 0;

    for (const TalkPlan &t : talks)
        requests += t.end[0].sends.size() + t.end[1].sends.size();
    std::snprintf(head, sizeof head,
                  "%zu hosts, %zu connections, %lu requests, %s, mtu %u, delay %lu ns, "
                  "rate %lu B/s%s, calm at %lu ms; faults:",
                  hosts.size(), talks.size(), requests, ipv6 ? "IPv6" : "IPv4", mtu_max, delay_ns,
                  rate_Bps, paths ? " on paths" : "", calm_ns / kMs);
    s = head;
    if (sealed)
        s.insert(s.rfind(", calm"), ", sealed");
    for (int f = 0; f < FAULTS; f++)
        if (on[f])
            s += std::string(" ") + kFaultNames[f].word + ",";
    s.back() = s.back() == ',' ? '.' : ':';
    return s;
}
