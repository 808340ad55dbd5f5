/* SPDX-License-Identifier: BSD-3-Clause */
/* For all tests of lib/path: a path in virtual time, packets for it, and the intervals in which a
 * model's numbers must lie. */
#ifndef SLUICE_TEST_UNIT_PATH_SUPPORT_H
#define SLUICE_TEST_UNIT_PATH_SUPPORT_H

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "path/path.h"
#include "wire/frame.h"
#include "wire/packet.h"
}

extern struct rte_mempool *test_pool;

/* Pieces of rte_malloc that are in use. */
size_t heap_objects();

/* A round clock, a common one, and one that divides no round number. */
constexpr uint64_t GHZ = 1000000000;
extern const std::vector<uint64_t> CLOCKS;

/* ns in cycles of hz, rounded up. */
inline uint64_t cycles(uint64_t ns, uint64_t hz)
{
    return (uint64_t)(((unsigned __int128)ns * hz + 999999999u) / 1000000000u);
}

inline uint32_t &mbuf_id(struct rte_mbuf *m)
{
    return m->hash.usr;
}

struct Out {
    uint64_t at;
    uint32_t id, len;
    bool operator==(const Out &o) const
    {
        return at == o.at && id == o.id && len == o.len;
    }
};

/* A path, and the packets that left it with the time of the poll. The times are exact, since
 * advance() polls whenever path_next() says so. Packets are numbered from 0. */
class Line
{
  public:
    explicit Line(const std::string &spec, uint64_t clock_hz = GHZ, uint64_t seed = 1,
                  uint32_t packets_max = 8192, uint64_t start = 0);
    ~Line();
    Line(const Line &) = delete;

    uint32_t push(uint64_t at, uint32_t len = 100); /* after advance(at); returns its number */
    uint32_t push(uint64_t at, struct rte_mbuf *m);
    void advance(uint64_t to); /* polls for all that is due until `to` */
    void finish(uint64_t to = TIME_NEVER - 1);
    void poll(uint64_t now);        /* one poll, whatever is due */
    std::vector<Out> by_id() const; /* packets that left; at = 0 for others */
    path_element_info element(uint32_t i = 0) const;
    const path_element_counts &counts(uint32_t i = 0) const
    {
        return *element(i).counts;
    }

    struct path *p = nullptr;
    uint64_t hz;
    uint32_t pushed = 0;
    uint64_t now;
    std::vector<Out> out;
    std::vector<uint64_t> in; /* when each was pushed */
    /* Sees each packet before it is freed. */
    std::function<void(struct rte_mbuf *)> look;
};

/* The error that path_create() gives for a spec; "" if the spec is right. */
std::string spec_error(const std::string &spec);

/* A packet of len zero bytes, in so many pieces, or in as many as it needs. */
struct rte_mbuf *packet_make(uint32_t len, uint32_t pieces = 1);
/* The default route, and a UDP packet. */
struct frame_route route_make(const char *src, const char *dst);
struct rte_mbuf *udp_make(const struct frame_route &r, uint32_t payload = 64);
/* A CNTL packet with this limit of routers, for the connection with this key. */
struct rte_mbuf *cntl_make(const struct frame_route &r, uint64_t hop_rate, uint64_t key = 7,
                           uint8_t flags = 0);
/* Are the IPv4 header checksum and the UDP checksum of the frame at m right? */
bool sums_right(struct rte_mbuf *m);
struct frame frame_of(struct rte_mbuf *m);

/* A file that is removed with its object. */
class TempFile
{
  public:
    explicit TempFile(const std::string &text);
    ~TempFile();
    std::string name;
};

/* ---- models and intervals ------------------------------------------------------------------- */

/* 99.9 % of a normal law lie within so many deviations. */
constexpr double Z999 = 3.2905;

/* hits of n events with probability p each. The autocorrelation of their indicators is rho^k. */
void expect_share(uint64_t hits, uint64_t n, double p, const char *what, double rho = 0);
/* The same for a mean of n values of a law. */
void expect_mean(double mean, uint64_t n, double mu, double sigma, const char *what,
                 double rho = 0);
/* The counts are equally likely. */
void expect_even(const std::vector<uint64_t> &counts, const char *what);

/* A Markov chain: the rates of events on its transitions, and the error of these rates after n
 * steps. */
class Chain
{
  public:
    using Matrix = std::vector<std::vector<double>>;
    explicit Chain(const Matrix &m);
    /* event(from, to): 0 .. 1 */
    void expect(uint64_t hits, uint64_t n, const std::function<double(size_t, size_t)> &event,
                const char *what) const;
    Matrix p;
    std::vector<double> stationary;
};

#endif
