// SPDX-License-Identifier: BSD-3-Clause
// One host, and a peer that is a script: it says what the test tells it to say, and keeps what the
// host says. The host is 10.0.0.1 with service 7; the peer is 10.0.0.2, or whom the test wants.
#ifndef SLUICE_TEST_SIM_PEER_HH
#define SLUICE_TEST_SIM_PEER_HH

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

extern "C" {
#include "wire/neigh.h"
}

#include "pair.hh"

// A frame the host sent.
struct Heard {
    uint64_t at_ns;
    frame_kind kind;
    struct frame frame;
    int type; // enum wire_type; 0: not Sluice's
    wire_first first;
    wire_data data;
    wire_cntl cntl;
    std::vector<uint8_t> bytes;   // whole frame
    std::vector<uint8_t> payload; // of DATA
};

struct PeerOptions {
    uint32_t silence_ms = 1000;
    uint16_t mtu = 1500;
    bool ipv6 = false;
    bool answer_arp = true;
    bool go_back_n = false; // wanted by the peer's FIRST
    bool gateway = false;   // the host reaches others through 10.0.0.254, which has the peer's MAC
    uint64_t rate_first_Bps = 10000000;
    uint64_t burst_first = 20000;
    uint32_t early = 4;
    uint32_t conns = 4;
    uint32_t gaps = 16;
};

class Peer
{
  public:
    explicit Peer(const PeerOptions &options = {});
    ~Peer();
    Peer(const Peer &) = delete;

    host *h()
    {
        return world_host(w, 0);
    }
    uint64_t now() const
    {
        return world_now(w);
    }
    void run(uint64_t ns)
    {
        world_run(w, world_now(w) + ns);
    }
    // Runs until done() or the time is over; returns done().
    bool until(const std::function<bool()> &done, uint64_t max_ns = 10 * CLOCK_NS_PER_S);

    // The host's side. Completions stand in log.
    uint32_t accept();
    uint32_t connect(); // to the peer
    void post_send(uint64_t len, uint64_t user);
    void post_recv(uint64_t len, uint64_t user);
    int shutdown(uint64_t user);
    void close();
    // The completion of an operation; nullptr if it is not complete.
    const host_completion *done(uint8_t op, uint64_t user) const;
    uint64_t counter(const char *name) const;
    uint64_t drops() const; // sum of all drop counters
    struct host_conn_info info() const;
    bool is_free() const;

    // The peer's side. state() is a CNTL that says how things are, with the next number.
    wire_cntl state(uint8_t flags = 0);
    void say(const wire_cntl &v);
    void say_first(uint64_t cookie = 0);
    void say_data(uint32_t request, uint32_t unit, uint64_t request_len, uint32_t unit_bytes,
                  uint8_t flags = 0);
    // Any bytes as the payload of UDP, with a right checksum.
    void say_bytes(const uint8_t *p, uint32_t len);
    void say_frame(const std::vector<uint8_t> &frame);
    // The peer becomes the opener of a connection, or the acceptor of the host's; both are open.
    void open_to_host();
    void open_by_host();
    // The peer acknowledges all DATA it has heard.
    void ack_all();
    // The last CNTL heard; a CNTL with these flags was heard.
    const wire_cntl *last_cntl() const;
    const wire_first *last_first() const;
    size_t heard_flags(uint8_t flags) const;
    size_t heard_type(int type) const;

    world *w;
    PeerOptions opt;
    uint32_t conn = HOST_CONN_NONE;
    std::deque<Heard> heard;
    std::vector<host_completion> log;
    std::deque<std::vector<uint8_t>> buffers;
    frame_route route = {}; // peer to host
    uint64_t own_key = 0x1234567890abcdef, host_key = 0;
    uint32_t initial = 100, host_initial = 500; // first requests: the peer's, the host's
    uint32_t seq = 0, host_seq = 0;
    uint64_t packet = 0, host_time_ns = 0;
    uint32_t posted = 0;    // buffers the peer has for the host's requests
    uint64_t sent_end, ack; // as said in CNTL
    uint32_t close_request = 0;
    uint64_t rate_Bps = 100000000;
    uint32_t burst_bytes = 100000;

  private:
    void hear(const rte_mbuf *m, uint64_t at);
    void answer_neighbor(const Heard &x);
    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t at, world_fate *f);
    static void app(void *ctx, uint32_t i, host *host, uint64_t at);
    void inject(const uint8_t *p, uint32_t len);
    std::vector<std::vector<uint8_t>> answers; // to be said after the host's turn
};

#endif
