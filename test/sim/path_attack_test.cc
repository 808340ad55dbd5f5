// SPDX-License-Identifier: BSD-3-Clause
// An attacker stands on the path between two hosts with keys. It hears every frame, and sends
// frames made of what it has heard, but has no key. Another one hears nothing and guesses. Neither
// has an effect but on counters. SLUICE_FORGED: how many frames each sends (1e7 takes minutes).
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "../unit/base/seed.h"
#include "framed.hh"
#include "pair.hh"

extern "C" {
#include "base/rng.h"
#include "wire/assoc.h"
#include "wire/packet.h"
}

namespace
{

constexpr size_t kKept = 256;         // frames that the attacker remembers
constexpr uint32_t kBurst = 100;      // forged frames at a time,
constexpr uint64_t kPause_ns = 20000; // which come once in this time
constexpr uint32_t kRequest = 100000;
constexpr uint64_t kQuiet = 4; // the first connections, which are not disturbed

uint64_t forged_wanted(uint64_t usual)
{
    const char *text = getenv("SLUICE_FORGED");

    return text != nullptr ? static_cast<uint64_t>(atof(text)) : usual;
}

// A packet that the attacker heard, and where it went.
struct Heard {
    frame_route route = {};
    std::vector<uint8_t> packet;
    uint32_t to = 0;

    wire_type type() const
    {
        return static_cast<wire_type>(packet[0] & 0xf);
    }
    bool sealed() const
    {
        return packet[4] != 0 || packet[5] != 0 || packet[6] != 0 || packet[7] != 0;
    }
};

class PathAttack : public testing::Test
{
  public:
    PairOptions o;
    struct rng rng;
    std::vector<Heard> heard, firsts;
    uint64_t sent = 0, connects = 0, quiet_ns = 0, attacked_ns = 0;

    PathAttack()
    {
        uint64_t seed = test_seed();

        rng_init(&rng, seed);
        o.control_ns = 1000000;
        o.security = HOST_SECURITY_REQUIRED;
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t, world_fate *) { hear(from, m); };
    }

    uint32_t below(uint64_t n)
    {
        return static_cast<uint32_t>(rng_below(&rng, n));
    }

    void hear(uint32_t from, const rte_mbuf *m)
    {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
        struct frame f;

        if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP || f.payload_len < 16)
            return;
        Heard h;

        h.route.src_mac = f.src_mac;
        h.route.dst_mac = f.dst_mac;
        h.route.vlan = f.vlan;
        h.route.src = f.src;
        h.route.dst = f.dst;
        h.route.sport = f.sport;
        h.route.dport = f.dport;
        h.packet.assign(p + f.payload_off, p + f.payload_off + f.payload_len);
        h.to = 1 - from;
        std::vector<Heard> &to = h.type() == WIRE_FIRST ? firsts : heard;

        if (to.size() < kKept)
            to.push_back(h);
        else
            to[below(kKept)] = h;
    }

    const Heard &any()
    {
        return !firsts.empty() && below(16) == 0 ? firsts[below(firsts.size())]
                                                 : heard[below(heard.size())];
    }

    void bits_flip(std::vector<uint8_t> *p)
    {
        for (uint32_t n = 1 + below(3); n > 0; n--)
            (*p)[below(p->size())] ^= static_cast<uint8_t>(1u << below(8));
    }

    // Changes a packet that was heard into one that nobody has sent, or leaves it as it is.
    void change(Heard *h)
    {
        std::vector<uint8_t> &p = h->packet;
        const Heard &other = any();
        size_t n = std::min(p.size(), other.packet.size());

        switch (below(12)) {
        case 0: // again
            break;
        case 1: // back to its sender
            std::swap(h->route.src, h->route.dst);
            std::swap(h->route.src_mac, h->route.dst_mac);
            std::swap(h->route.sport, h->route.dport);
            h->to = 1 - h->to;
            break;
        case 2:
        case 3:
            bits_flip(&p);
            break;
        case 4: // another one's header: key, association, flags
            std::memcpy(p.data(), other.packet.data(), 16);
            break;
        case 5: // another one's trailer
            if (n >= 16 + WIRE_TRAILER_BYTES)
                std::memcpy(&p[p.size() - WIRE_TRAILER_BYTES],
                            &other.packet[other.packet.size() - WIRE_TRAILER_BYTES],
                            WIRE_TRAILER_BYTES);
            break;
        case 6: // the front of one, the rest of another
            std::memcpy(p.data(), other.packet.data(), 16 + below(n - 15));
            break;
        case 7: // another key, or association
            std::memcpy(&p[4 + 4 * below(2)], &other.packet[4 + 4 * below(2)], 4);
            break;
        case 8: // another length
            p.resize(below(2) == 0 ? 16 + below(p.size() - 15) : p.size() + 1 + below(40));
            break;
        case 9: // plain
            std::memset(&p[4], 0, 4);
            if (below(2) == 0 && p.size() > 16 + WIRE_TRAILER_BYTES)
                p.resize(p.size() - WIRE_TRAILER_BYTES);
            break;
        case 10: // from elsewhere
            h->route.sport ^= static_cast<uint16_t>(1u << below(16));
            h->route.src.b[15] ^= static_cast<uint8_t>(below(4));
            break;
        default: // an earlier or later number
            if (h->sealed() && p.size() > 16 + WIRE_TRAILER_BYTES)
                p[p.size() - 17] = static_cast<uint8_t>(p[p.size() - 17] + below(8));
            break;
        }
    }

    // Routers' bytes are not under the tag: who changes them lowers a rate, as an attacker on the
    // path may (Sealed.RouterBytes). Here only what must have no effect is of interest.
    void hops_restore(Heard *h)
    {
        if (h->type() == WIRE_CNTL && h->packet.size() >= 176)
            std::memset(&h->packet[160], 0, 16);
    }

    void forge(Pair &p)
    {
        Heard h = any();

        // A flood of handshakes is Sealed.HandshakeFlood's: it may delay new ones.
        if (wire_is_handshake(h.type()) && below(256) != 0)
            return;
        change(&h);
        if (h.packet.size() > 1472 || h.packet.size() < 1)
            return;
        hops_restore(&h);
        world_inject(p.w, h.to,
                     mbuf_of(Pools::get().wire, framed(h.route, h.packet.data(),
                                                       static_cast<uint32_t>(h.packet.size()))));
        sent++;
    }

    // A packet as an attacker guesses it that hears nothing, but knows addresses and ports.
    void guess(Pair &p)
    {
        const host_config *from = host_get_config(below(2) == 0 ? p.a() : p.b());
        const host_config *to =
            from == host_get_config(p.a()) ? host_get_config(p.b()) : host_get_config(p.a());
        frame_route r = route_between(*from, *to, false);
        uint8_t packet[256];
        uint32_t len = 16 + below(sizeof packet - 15);

        for (uint32_t i = 0; i < len; i += 8) {
            uint64_t random = rng_u64(&rng);

            std::memcpy(packet + i, &random, std::min(len - i, 8u));
        }
        packet[0] = static_cast<uint8_t>(0x10 | (1 + below(7)));
        packet[1] = 0;
        if (below(2) == 0) // numbers of associations are easier to guess than keys
            std::memset(packet + 4, 0, 3);
        world_inject(p.w, to == host_get_config(p.b()) ? 1 : 0,
                     mbuf_of(Pools::get().wire, framed(r, packet, len)));
        sent++;
    }

    static uint64_t counted(Pair &p, const char *name)
    {
        return host_counter_named(p.a(), name) + host_counter_named(p.b(), name);
    }

    // B accepts once more, but no connection comes of what the attacker sends.
    void first_again(Pair &p, void (PathAttack::*forge_one)(Pair &p))
    {
        uint32_t waiting = static_cast<uint32_t>(host_accept(p.b(), 7, 1, 50));
        uint64_t accepted = counted(p, "conns_accepted");

        for (uint32_t i = 0; i < 10 * kBurst; i++)
            (this->*forge_one)(p);
        p.wait(kPause_ns);
        EXPECT_EQ(counted(p, "conns_accepted"), accepted);
        host_close(p.b(), waiting, WIRE_END_ABORT, world_now(p.w));
        p.wait(kPause_ns);
        for (uint32_t side : {0, 1}) {
            p.sends[side].clear();
            p.recvs[side].clear();
        }
    }

    // Connections with transfers both ways, one after the other, until so many forged frames are
    // sent. Transfers take no tenth longer than undisturbed ones.
    void attack(uint64_t wanted, void (PathAttack::*forge_one)(Pair &p))
    {
        Pair p(o);

        do {
            if (connects++ == 0)
                p.open();
            else
                p.connect();
            p.run([&] { return p.opened[0] == 0; }, CLOCK_NS_PER_S);
            for (int i = 0; i < 8; i++) {
                p.recv(kRequest);
                p.send(kRequest);
                p.recv_back(kRequest);
                p.send_back(kRequest);
            }
            uint64_t begun = world_now(p.w), until = begun + 10 * CLOCK_NS_PER_S;

            while (!p.all_done() && world_now(p.w) < until) {
                for (uint32_t i = 0; i < kBurst && sent < wanted && connects > kQuiet; i++)
                    (this->*forge_one)(p);
                p.wait(kPause_ns);
            }
            ASSERT_TRUE(p.all_done()) << p.state() << " after " << sent << " forged frames";
            ASSERT_TRUE(p.finish()) << p.state() << " after " << sent << " forged frames";
            (connects <= kQuiet ? quiet_ns : attacked_ns) += world_now(p.w) - begun;
            first_again(p, forge_one);
        } while (sent < wanted);
        EXPECT_EQ(counted(p, "conns_accepted"), connects);
        EXPECT_EQ(counted(p, "conns_failed"), connects) << "those that nobody opened";
        EXPECT_LT(attacked_ns / (connects - kQuiet), quiet_ns / kQuiet * 10 / 9);
    }
};

TEST_F(PathAttack, ForgedFramesChangeNothing)
{
    attack(forged_wanted(40000), &PathAttack::forge);
}

TEST_F(PathAttack, GuessedFramesChangeNothing)
{
    attack(forged_wanted(40000), &PathAttack::guess);
}

} // namespace
