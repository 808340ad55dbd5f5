// SPDX-License-Identifier: BSD-3-Clause
#include "life.hh"

#include <cstring>

#include "framed.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

// An RCNTL, as a router on the path would send it to host A.
rte_mbuf *router_says(const Pair &p, uint64_t rate_Bps)
{
    const host_config *a = host_get_config(world_host(p.w, 0));
    const host_config *b = host_get_config(world_host(p.w, 1));
    wire_rcntl v = {};
    uint8_t bytes[64];

    v.h.key = p.oracle.key_of[0];
    v.rate_Bps = rate_Bps;
    v.expiry_ms = 2;
    v.hop = 1;
    v.time_ns = world_now(p.w);
    uint32_t len = wire_put_rcntl(bytes, &v);

    return mbuf_of(Pools::get().head, framed(route_between(*b, *a, p.opt.ipv6), bytes, len));
}

class Life
{
  public:
    Life(const LifeOptions &options, const LifeFates &wanted)
        : opt(options), fates(wanted), pair(pair_options())
    {
    }

    LifeResult run()
    {
        std::string fault = opt.brief ? brief() : full();
        uint64_t log = pair.log.size();

        if (fault.empty() && opt.after_ns > 0) {
            world_run(pair.w, world_now(pair.w) + opt.after_ns);
            if (pair.log.size() != log || !pair.all_free())
                fault = "something happens after the close";
        }
        for (const char *name : {"conns_failed", "conns_full"})
            if (counter(0, name) + counter(1, name) > 0)
                fault += std::string(name) + " ";
        if (!pair.faults.empty() || !pair.oracle.faults.empty())
            fault += "faults ";
        if (!fault.empty())
            fault += ": " + pair.state();
        LifeResult r = {fault, frames, {}, world_now(pair.w)};
        std::memcpy(r.flags, pair.oracle.flags, sizeof r.flags);
        return r;
    }

  private:
    PairOptions pair_options()
    {
        PairOptions o;

        o.go_back_n = opt.go_back_n;
        o.ipv6 = opt.ipv6;
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *f) {
            decide(from, m, now, f);
        };
        return o;
    }

    void decide(uint32_t from, const rte_mbuf *m, uint64_t now, world_fate *f)
    {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
        struct frame view;
        wire_header h = {};
        LifeFrame record = {from, now, frame_parse(p, m->data_len, m->pkt_len, &view), 0, 0};

        if (record.kind == FRAME_UDP &&
            wire_parse_header(p + view.payload_off, view.payload_len, &h) == WIRE_OK) {
            record.type = h.type;
            record.flags = h.flags;
        }
        auto wanted = fates.find(frames.size());

        if (wanted != fates.end())
            *f = wanted->second;
        frames.push_back(record);
    }

    uint64_t counter(uint32_t side, const char *name)
    {
        return host_counter_named(world_host(pair.w, side), name);
    }

    void wait(uint64_t ns)
    {
        uint64_t end = world_now(pair.w) + ns;

        pair.run([&] { return world_now(pair.w) >= end; });
    }

    std::string brief()
    {
        pair.open();
        pair.recv(1);
        pair.send(1);
        if (!pair.run([&] { return pair.all_done(); }))
            return "not done";
        return pair.finish() ? "" : "no orderly close";
    }

    std::string full()
    {
        pair.open();
        pair.recv(5000);
        pair.recv(0);
        pair.send(5000);
        pair.send(0);
        pair.send(7000); // its buffer comes late
        pair.recv_back(4000);
        pair.send_back(4000);
        wait(3 * kMs);
        pair.recv(7000);
        if (!pair.run([&] { return pair.all_done(); }))
            return "early data not done";
        world_emit(pair.w, 1, router_says(pair, 20000000));
        pair.recv(50000);
        pair.send(50000, true, 9000);
        pair.recv_back(3000);
        pair.send_back(3000);
        pair.send(12000); // it waits for its buffer
        pair.shutdown(0);
        wait(2 * kMs);
        pair.recv(12000);
        if (!pair.run([&] { return pair.all_done(); }))
            return "not done";
        return pair.finish() ? "" : "no orderly close";
    }

    LifeOptions opt;
    const LifeFates &fates;
    std::vector<LifeFrame> frames;
    Pair pair;
};

} // namespace

LifeResult live(const LifeOptions &options, const LifeFates &fates)
{
    LifeResult r = Life(options, fates).run();

    if (!Pools::get().whole())
        r.fault += " mbufs leak";
    return r;
}
