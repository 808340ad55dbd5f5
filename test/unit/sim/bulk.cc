// SPDX-License-Identifier: BSD-3-Clause
#include "bulk.hh"

#include <algorithm>
#include <stdexcept>

#include "findings.hh"
#include "route.hh"

Bulk::Bulk(const BulkOptions &options) : opt(options)
{
    line_config cfg = {{opt.there.c_str(), opt.back.c_str()}, kHz, 1, 4000, test_pool};
    char err[300];

    line = line_create(&cfg, err, sizeof err);
    if (line == nullptr)
        throw std::runtime_error(err);

    tahoe_config t = {};
    t.route = route(0, 1001, 1002);
    t.hz = kHz;
    t.start = opt.start_ns;
    t.tick_ns = opt.tick_ns;
    t.window_bytes = opt.window_bytes;
    t.mss_bytes = opt.mss_bytes;
    t.open_at_once = opt.open_at_once;
    t.no_fast_retransmit = !opt.fast_retransmit;
    t.pool = test_pool;
    tahoe_init(&tcp, &t, 0);
    line_add(line, 0, tahoe_node(&tcp));

    tahoe_receiver_config r = {};
    r.route = route(1, 1002, 1001);
    r.hz = kHz;
    r.tick_ns = opt.read_tick_ns;
    r.window_bytes = opt.window_bytes;
    r.mss_bytes = opt.mss_bytes;
    r.pool = test_pool;
    r.read = read;
    r.ctx = this;
    tahoe_receiver_init(&reader, &r, 0);
    line_add(line, 1, tahoe_receiver_node(&reader));
    if (opt.probe_len[0] == 0)
        return;

    probe_config p = {};
    p.route = route(0, 1003, 1004);
    p.hz = kHz;
    p.start = 1000;
    p.interval_ns = 100000000;
    p.ip_len[0] = opt.probe_len[0];
    p.ip_len[1] = opt.probe_len[1];
    p.pool = test_pool;
    probe_init(&probe, &p);
    line_add(line, 0, probe_node(&probe));

    mirror_config m = {};
    m.of = &probe;
    m.route = route(1, 1004, 1003);
    m.pool = test_pool;
    m.hook = {seen, this};
    mirror_init(&mirror, &m);
    line_add(line, 1, mirror_node(&mirror));
}

Bulk::~Bulk()
{
    line_destroy(line);
}

void Bulk::run(double until_s)
{
    line_run(line, static_cast<uint64_t>(until_s * kS));
}

void Bulk::seen(void *ctx, uint32_t number, uint16_t, uint64_t cycles, uint64_t now)
{
    Bulk *b = static_cast<Bulk *>(ctx);
    double took = static_cast<double>(cycles);
    double &base = b->unloaded_[number % 2];

    if (now < b->opt.start_ns)
        base = std::min(base, took);
    b->probes.push_back({static_cast<double>(now) / kS, (took - base) / kMs, number % 2});
}

void Bulk::read(void *ctx, uint32_t len_bytes, uint64_t now)
{
    static_cast<Bulk *>(ctx)->reads.push_back({static_cast<double>(now) / kS, len_bytes});
}

double Bulk::rate_bps(double from_s, double to_s) const
{
    double bytes = 0;

    for (const Read &r : reads)
        bytes += r.at_s > from_s && r.at_s <= to_s ? r.bytes : 0;
    return 8 * bytes / (to_s - from_s);
}

double Bulk::increment_ms(uint32_t kind, double from_s, double to_s, double share) const
{
    std::vector<double> all;

    for (const Probe &p : probes)
        if ((kind == 2 || p.kind == kind) && p.at_s > from_s && p.at_s <= to_s)
            all.push_back(p.increment_ms);
    if (all.empty())
        return -1;
    std::sort(all.begin(), all.end());
    return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
}

uint32_t Bulk::probes_lost(uint32_t kind) const
{
    // All probes that were sent more than two seconds ago have arrived, or are lost.
    uint32_t sent = probe.sent > 20 ? probe.sent - 20 : 0, came = 0;

    for (const Probe &p : probes)
        came += p.kind == kind && p.at_s - p.increment_ms / 1e3 < (double)sent * 0.1;
    return sent / 2 > came ? sent / 2 - came : 0;
}

uint64_t Bulk::dropped(uint32_t element) const
{
    path_element_info info;

    if (!path_element(line_path(line, 0), element, &info))
        throw std::runtime_error("no such element");
    return info.counts->dropped;
}

std::vector<double> Bulk::momentary_bps() const
{
    std::vector<double> out;

    // Arrivals i - 1 .. i + 3: the time since the first of the five is that of the other four.
    for (size_t i = 1; i + 3 < reads.size(); i++) {
        double bytes = 0;

        for (size_t k = i; k <= i + 3; k++)
            bytes += reads[k].bytes;
        out.push_back(8 * bytes / (reads[i + 3].at_s - reads[i - 1].at_s));
    }
    return out;
}
