// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <rte_ip.h>

struct rte_mempool *test_pool;
const std::vector<uint64_t> CLOCKS = {GHZ, 2600000000, 2599999813};

size_t heap_objects()
{
    struct rte_malloc_socket_stats s;

    return rte_malloc_get_socket_stats(0, &s) == 0 ? s.alloc_count : 0;
}

Line::Line(const std::string &spec, uint64_t clock_hz, uint64_t seed, uint32_t packets_max,
           uint64_t start)
    : hz(clock_hz), now(start)
{
    struct path_config cfg = {clock_hz, seed, packets_max, test_pool, 0, 0};
    char err[512] = "";

    p = path_create(spec.c_str(), &cfg, start, err, sizeof err);
    if (p == nullptr)
        throw std::runtime_error(spec + ": " + err);
}

Line::~Line()
{
    path_destroy(p);
}

uint32_t Line::push(uint64_t at, struct rte_mbuf *m)
{
    advance(at);
    mbuf_id(m) = pushed;
    in.push_back(at);
    path_push(p, &m, 1, at);
    return pushed++;
}

uint32_t Line::push(uint64_t at, uint32_t len)
{
    return push(at, packet_make(len));
}

void Line::poll(uint64_t to)
{
    struct rte_mbuf *m[32];
    uint16_t n;

    now = to;
    do {
        n = path_pop(p, m, 32, now);
        for (uint16_t i = 0; i < n; i++) {
            out.push_back({now, mbuf_id(m[i]), m[i]->pkt_len});
            if (look)
                look(m[i]);
            rte_pktmbuf_free(m[i]);
        }
    } while (n == 32);
}

void Line::advance(uint64_t to)
{
    for (uint64_t next = path_next(p); next <= to; next = path_next(p))
        poll(next > now ? next : now);
    now = to;
}

void Line::finish(uint64_t to)
{
    for (uint64_t next = path_next(p); next <= to; next = path_next(p))
        poll(next > now ? next : now);
}

std::vector<Out> Line::by_id() const
{
    std::vector<Out> v(pushed, Out{0, 0, 0});

    for (const Out &o : out)
        v[o.id] = o;
    return v;
}

path_element_info Line::element(uint32_t i) const
{
    path_element_info info = {};

    EXPECT_TRUE(path_element(p, i, &info)) << i;
    return info;
}

std::string spec_error(const std::string &spec)
{
    struct path_config cfg = {GHZ, 1, 64, test_pool, 0, 0};
    char err[512] = "";
    struct path *p = path_create(spec.c_str(), &cfg, 0, err, sizeof err);

    EXPECT_EQ(p == nullptr, err[0] != '\0') << spec << ": " << err;
    path_destroy(p);
    return err;
}

struct rte_mbuf *packet_make(uint32_t len, uint32_t pieces)
{
    struct rte_mbuf *first = nullptr;

    pieces = std::max(pieces, len / 2048 + 1);
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t part = len / pieces + (i < len % pieces);
        struct rte_mbuf *m = rte_pktmbuf_alloc(test_pool);

        if (m == nullptr)
            throw std::runtime_error("no packet left");
        memset(rte_pktmbuf_append(m, (uint16_t)part), 0, part);
        if (first == nullptr)
            first = m;
        else
            rte_pktmbuf_chain(first, m);
    }
    return first;
}

struct frame_route route_make(const char *src, const char *dst)
{
    struct frame_route r = {};

    r.src_mac = {{2, 0, 0, 0, 0, 1}};
    r.dst_mac = {{2, 0, 0, 0, 0, 2}};
    r.vlan = FRAME_VLAN_NONE;
    EXPECT_EQ(addr_parse(src, &r.src), 0);
    EXPECT_EQ(addr_parse(dst, &r.dst), 0);
    r.sport = 1000;
    r.dport = 2000;
    return r;
}

struct rte_mbuf *udp_make(const struct frame_route &r, uint32_t payload)
{
    uint16_t head = frame_header_len(&r);
    struct rte_mbuf *m = packet_make(head + payload);
    uint8_t *bytes = rte_pktmbuf_mtod(m, uint8_t *);

    frame_put(bytes, &r, payload);
    frame_set_udp_sum(bytes, &r, payload, frame_sum(bytes + head, payload));
    return m;
}

struct rte_mbuf *cntl_make(const struct frame_route &r, uint64_t hop_rate, uint64_t key,
                           uint8_t flags)
{
    uint8_t body[WIRE_CNTL_MAX_BYTES];
    struct wire_cntl c = {};

    c.h.key = key;
    c.h.flags = flags;
    c.own_key = 9;
    c.seq = 1;
    c.unit_max = 8192;
    c.hop_rate_Bps = hop_rate;
    c.silence_ms = 3000;
    uint32_t len = wire_put_cntl(body, &c);
    struct rte_mbuf *m = udp_make(r, len);
    uint8_t *bytes = rte_pktmbuf_mtod(m, uint8_t *);
    uint16_t head = frame_header_len(&r);
    memcpy(bytes + head, body, len);
    frame_set_udp_sum(bytes, &r, len, frame_sum(body, len));
    return m;
}

struct frame frame_of(struct rte_mbuf *m)
{
    struct frame f = {};

    frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f);
    return f;
}

bool sums_right(struct rte_mbuf *m)
{
    const uint8_t *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
    struct frame f = frame_of(m); /* this checks IPv4's checksum */

    return f.kind == FRAME_UDP &&
           frame_udp_sum_ok(bytes, &f, frame_sum(bytes + f.payload_off, f.payload_len));
}

TempFile::TempFile(const std::string &text) : name("./path-test-XXXXXX")
{
    int fd = mkstemp(&name[0]);

    EXPECT_EQ(write(fd, text.data(), text.size()), (ssize_t)text.size());
    close(fd);
}

TempFile::~TempFile()
{
    unlink(name.c_str());
}

void expect_mean(double mean, uint64_t n, double mu, double sigma, const char *what, double rho)
{
    double room = Z999 * sigma * std::sqrt((1 + rho) / (1 - rho) / (double)n);

    EXPECT_NEAR(mean, mu, room) << what << ", n = " << n;
}

void expect_share(uint64_t hits, uint64_t n, double p, const char *what, double rho)
{
    expect_mean((double)hits / (double)n, n, p, std::sqrt(p * (1 - p)), what, rho);
}

void expect_even(const std::vector<uint64_t> &counts, const char *what)
{
    double n = 0, chi2 = 0, k = (double)counts.size() - 1;

    for (uint64_t c : counts)
        n += (double)c;
    double each = n / (double)counts.size();
    for (uint64_t c : counts)
        chi2 += ((double)c - each) * ((double)c - each) / each;
    /* Wilson and Hilferty: the cube root of chi2 / k is nearly normal */
    double z = (std::cbrt(chi2 / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
    EXPECT_LE(std::fabs(z), Z999) << what << ", chi2 " << chi2 << " of " << k;
}

Chain::Chain(const Matrix &m) : p(m), stationary(m.size(), 1.0 / (double)m.size())
{
    /* half of the weight stays in its state, so that periodic chains settle, too */
    for (int round = 0; round < 200000; round++) {
        std::vector<double> next(p.size(), 0);

        for (size_t i = 0; i < p.size(); i++)
            for (size_t j = 0; j < p.size(); j++)
                next[j] += stationary[i] * (p[i][j] + (i == j)) / 2;
        stationary = next;
    }
}

void Chain::expect(uint64_t hits, uint64_t n, const std::function<double(size_t, size_t)> &event,
                   const char *what) const
{
    size_t k = p.size();
    double mu = 0, square = 0, variance;
    std::vector<double> after(k, 0), mean(k, 0);

    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) {
            double e = event(i, j), share = stationary[i] * p[i][j];

            mu += share * e;
            square += share * e * e;
            mean[i] += p[i][j] * e;
            after[j] += share * e; /* weight of state j right after an event */
        }
    variance = square - mu * mu;
    /* autocovariances: the mean of later events, given one now */
    for (int lag = 0; lag < 5000; lag++) {
        std::vector<double> next(k, 0);
        double joint = 0;

        for (size_t i = 0; i < k; i++)
            joint += after[i] * mean[i];
        variance += 2 * (joint - mu * mu);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++)
                next[j] += after[i] * p[i][j];
        after = next;
    }
    EXPECT_NEAR((double)hits / (double)n, mu, Z999 * std::sqrt(variance / (double)n)) << what;
}
