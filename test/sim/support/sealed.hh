// SPDX-License-Identifier: BSD-3-Clause
// Two hosts whose packets are sealed, and what an attacker on the path sees of these.
#ifndef SLUICE_TEST_SIM_SEALED_HH
#define SLUICE_TEST_SIM_SEALED_HH

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "framed.hh"
#include "pair.hh"
#include "whole_pools.hh"

extern "C" {
#include "wire/assoc.h"
}

// What a frame of Sluice is; type 0: it is none.
struct Seen {
    int type = 0;
    uint32_t association = 0, payload_off = 0, payload_len = 0;
    uint64_t number = 0; // of its trailer
};

inline Seen look(const rte_mbuf *m)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct frame f;
    wire_header h;
    Seen s;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_header(p + f.payload_off, f.payload_len, &h) != WIRE_OK)
        return s;
    s = {h.type, h.association, f.payload_off, f.payload_len, 0};
    if (h.association != 0)
        s.number = wire_parse_trailer(p + f.payload_off + f.payload_len - WIRE_TRAILER_BYTES);
    return s;
}

// Two hosts that demand associations, and a ledger of the numbers under which packets were sealed:
// none may occur twice.
class Sealed : public WholePools
{
  protected:
    PairOptions o;
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> ledger;
    uint64_t plain = 0; // packets of FIRST, DATA and CNTL that were not sealed
    // Further work of fate().
    std::function<void(uint32_t from, rte_mbuf *m, const Seen &s, world_fate *fate)> path;

    Sealed()
    {
        o.control_ns = 1000000;
        o.security = HOST_SECURITY_REQUIRED;
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t, world_fate *fate) {
            Seen s = look(m);

            if (s.association != 0) {
                EXPECT_TRUE(ledger.insert({from, s.association, s.number}).second)
                    << "number " << s.number << " was used twice";
            } else if (s.type >= WIRE_FIRST && s.type <= WIRE_CNTL) {
                plain++;
            }
            if (path)
                path(from, m, s, fate);
        };
    }

    void TearDown() override
    {
        EXPECT_EQ(plain, 0u);
        WholePools::TearDown();
    }

    // Gives B a second peer beside A. Returns the route of what seems to come from it.
    static frame_route second_peer(Pair *p)
    {
        struct assoc_peer peers[2] = {};
        frame_route r = route_between(*host_get_config(p->a()), *host_get_config(p->b()), false);

        r.src = addr_from_v4(0x0b000001);
        peers[0].address[0] = host_get_config(p->a())->address[0];
        peers[1].address[0] = r.src;
        peers[0].prefix_len[0] = peers[1].prefix_len[0] = 32;
        world_public_key(p->w, 0, 42, peers[0].public_key);
        world_public_key(p->w, 0, 43, peers[1].public_key);
        EXPECT_EQ(host_control_set_secured(world_control(p->w, 1), peers, 2), 0);
        return r;
    }

    // 20 packets a microsecond come to B, by this route. A's handshakes get through. packet():
    // makes the next one.
    static void flood(Pair *p, const frame_route &r,
                      const std::function<std::vector<uint8_t>()> &packet)
    {
        for (int us = 0; us < 8000; us++) {
            if (us == 2500)
                p->open();
            for (int i = 0; i < 20; i++) {
                std::vector<uint8_t> next = packet();

                world_inject(p->w, 1,
                             mbuf_of(Pools::get().wire,
                                     framed(r, next.data(), static_cast<uint32_t>(next.size()))));
            }
            p->wait(1000);
        }
        EXPECT_EQ(p->opened[0], 0) << "A does not get through";
        EXPECT_GT(host_counter_named(p->b(), "drop_handshake_full"), 100000u);
        p->close();
    }

    void transfer(size_t packets = 1400)
    {
        Pair p(o);

        p.open();
        for (uint64_t len : {0ul, 1ul, 1383ul, 1384ul, 1385ul, 100000ul, 1000000ul}) {
            p.recv(len);
            p.send(len);
            p.recv_back(len);
            p.send_back(len);
        }
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        EXPECT_TRUE(p.finish()) << p.state();
        for (host *h : {p.a(), p.b()}) {
            EXPECT_EQ(host_counter_named(h, "drop_seal"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_plain"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_association"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_replay"), 0u);
        }
        EXPECT_GT(ledger.size(), packets);
    }
};

#endif
