// SPDX-License-Identifier: BSD-3-Clause
// One host, and a peer that a test controls. The peer sends only the packets that the test asks
// for, and answers to ARP and neighbor requests. It keeps all frames of the host. The host is
// 10.0.0.1 with service 7. The peer is 10.0.0.2, unless the test changes `route`.
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

// A frame that the host sent.
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
    bool fixed = false; // the host's configuration has the MAC address of the next hop to the peer
    bool go_back_n = false; // the peer's FIRST asks for it
    bool gateway = false;   // the host reaches others through 10.0.0.254, which has the peer's MAC
    uint64_t rate_first_Bps = 10000000;
    uint64_t burst_first = 20000;
    uint32_t burst_req = 10000; // in the peer's FIRST
    uint32_t early = 4;
    uint32_t ahead = 0; // requests that the host sends before the peer has buffers for them
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

    // The host's side. Its completions go into log.
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

    // The peer's side. state() makes a CNTL with the peer's state and the next number.
    wire_cntl state(uint8_t flags = 0);
    void say(const wire_cntl &v);
    void say_first(uint64_t cookie = 0);
    void say_data(uint32_t request, uint32_t unit, uint64_t request_len, uint32_t unit_bytes,
                  uint8_t flags = 0);
    // Sends any bytes as the payload of UDP, with a correct checksum.
    void say_bytes(const uint8_t *p, uint32_t len);
    void say_frame(const std::vector<uint8_t> &frame);
    // Opens a connection: the first from the peer to the host, the second from the host to it.
    void open_to_host();
    void open_by_host();
    // The peer acknowledges all DATA that it has heard.
    void ack_all();
    // The last CNTL or FIRST heard; nullptr: none. heard_flags() counts CNTL with these flags,
    // heard_type() packets of a type.
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
    uint32_t posted = 0;    // end of the host's requests for which the peer has buffers
    uint64_t sent_end, ack; // as in CNTL
    uint32_t close_request = 0;
    uint64_t rate_Bps = 100000000;
    uint32_t burst_bytes = 100000;

  private:
    void hear(const rte_mbuf *m, uint64_t at);
    void answer_neighbor(const Heard &x);
    static void fate(void *ctx, uint32_t from, rte_mbuf *m, uint64_t at, world_fate *f);
    static void app(void *ctx, uint32_t i, host *host, uint64_t at);
    void inject(const uint8_t *p, uint32_t len);
    std::vector<std::vector<uint8_t>> answers; // to be sent after the host's poll
};

#endif
