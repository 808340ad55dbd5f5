/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP and neighbour discovery: golden frames in both directions, every malformed variant. */
#include "support.h"

#include <functional>

#include <rte_ip.h>

namespace
{

const char *arp_request = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001"
                          "020000000001 0a000001 000000000000 0a000002";
const char *arp_reply = "020000000001 020000000002 8100 0064 0806 0001 0800 06 04 0002"
                        "020000000002 0a000002 020000000001 0a000001";
const char *solicit = "3333ff123456 020000000001 86dd 60000000 0020 3a ff"
                      "fd000000000000000000000000000001 ff0200000000000000000001ff123456"
                      "87 00 14cb 00000000 fd000000000000000000000000123456"
                      "01 01 020000000001";
const char *probe = "3333ff123456 020000000001 86dd 60000000 0018 3a ff"
                    "00000000000000000000000000000000 ff0200000000000000000001ff123456"
                    "87 00 14d7 00000000 fd000000000000000000000000123456";
const char *advert = "020000000001 020000000002 86dd 60000000 0020 3a ff"
                     "fd000000000000000000000000123456 fd000000000000000000000000000001"
                     "88 00 b3cd 60000000 fd000000000000000000000000123456"
                     "02 01 020000000002";
const char *probe_answer = "333300000001 020000000002 8100 0007 86dd 60000000 0020 3a ff"
                           "fd000000000000000000000000123456 ff020000000000000000000000000001"
                           "88 00 f1cb 20000000 fd000000000000000000000000123456"
                           "02 01 020000000002";
using Change = std::function<void(Bytes &)>;

/* Makes the checksum of an untagged ICMPv6 frame right again. */
void resum6(Bytes &b)
{
    struct rte_ipv6_hdr ip;
    uint16_t sum;

    std::memset(&b[56], 0, 2);
    std::memcpy(&ip, &b[14], sizeof ip);
    sum = rte_ipv6_udptcp_cksum(&ip, &b[54]);
    std::memcpy(&b[56], &sum, 2);
}

enum neigh_kind parse(const Bytes &b, struct neigh *n)
{
    uint32_t len = static_cast<uint32_t>(b.size());
    Exact e(b);
    struct frame f;

    frame_parse(e.data(), len, len, &f);
    EXPECT_EQ(neigh_parse(e.data(), len, &f, n), n->kind);
    return n->kind;
}

enum neigh_kind changed(const char *hex, const Change &change)
{
    Bytes b = from_hex(hex);
    struct neigh n;

    change(b);
    return parse(b, &n);
}

/* The same with a right ICMPv6 checksum, so that only the change can cause a refusal. */
enum neigh_kind changed6(const char *hex, const Change &change)
{
    return changed(hex, [&](Bytes &b) {
        change(b);
        resum6(b);
    });
}

std::string text(const struct addr &a)
{
    char buf[ADDR_TEXT_MAX];

    return addr_format(&a, buf);
}

std::string hex_of(const struct rte_ether_addr &mac)
{
    return to_hex(Bytes(mac.addr_bytes, mac.addr_bytes + 6));
}

std::string request(const char *mac, const char *sender, const char *target, uint16_t vlan)
{
    struct rte_ether_addr m = mac_of(mac);
    struct addr s = addr_of(sender), t = addr_of(target);
    uint8_t p[NEIGH_FRAME_MAX];
    uint16_t len = neigh_put_request(p, &m, &s, &t, vlan);

    return to_hex(Bytes(p, p + len));
}

std::string reply(const char *mac, const char *target, const char *dst_mac, const char *dst,
                  uint16_t vlan)
{
    struct rte_ether_addr m = mac_of(mac), dm = mac_of(dst_mac);
    struct addr t = addr_of(target), d = addr_of(dst);
    uint8_t p[NEIGH_FRAME_MAX];
    uint16_t len = neigh_put_reply(p, &m, &t, &dm, &d, vlan);

    return to_hex(Bytes(p, p + len));
}

void flip_bits(const char *hex, size_t from, const std::function<void(Bytes &)> &check)
{
    Bytes good = from_hex(hex);

    for (size_t bit = from * 8; bit < good.size() * 8; bit++) {
        Bytes b = good;

        flip(b, bit);
        check(b);
    }
}

} // namespace

TEST(Neigh, ArpRequestGolden)
{
    struct neigh n;

    EXPECT_EQ(request("020000000001", "10.0.0.1", "10.0.0.2", FRAME_VLAN_NONE),
              to_hex(from_hex(arp_request)));
    ASSERT_EQ(parse(from_hex(arp_request), &n), NEIGH_REQUEST);
    EXPECT_EQ(text(n.sender), "10.0.0.1");
    EXPECT_EQ(text(n.target), "10.0.0.2");
    EXPECT_TRUE(n.has_mac);
    EXPECT_EQ(hex_of(n.mac), "020000000001");
}

TEST(Neigh, ArpReplyGolden)
{
    struct neigh n;

    EXPECT_EQ(reply("020000000002", "10.0.0.2", "020000000001", "10.0.0.1", 100),
              to_hex(from_hex(arp_reply)));
    ASSERT_EQ(parse(from_hex(arp_reply), &n), NEIGH_REPLY);
    EXPECT_EQ(text(n.sender), "10.0.0.2");
    EXPECT_EQ(text(n.target), "10.0.0.2");
    EXPECT_EQ(hex_of(n.mac), "020000000002");
}

TEST(Neigh, ArpProbe)
{
    struct neigh n;

    ASSERT_EQ(parse(from_hex(request("020000000001", "0.0.0.0", "10.0.0.2", 5)), &n),
              NEIGH_REQUEST);
    EXPECT_TRUE(addr_is_unset(&n.sender));
    EXPECT_EQ(text(n.target), "10.0.0.2");
}

TEST(Neigh, ArpPaddedToEthernetMinimum)
{
    EXPECT_EQ(changed(arp_request, [](Bytes &b) { b.resize(60); }), NEIGH_REQUEST);
}

TEST(Neigh, ArpMalformed)
{
    const Change changes[] = {
        [](Bytes &b) { b[21] = 3; },                            /* RARP */
        [](Bytes &b) { b[20] = 1; },                            /* operation 257 */
        [](Bytes &b) { b[22] = 1; },                            /* a group's hardware address */
        [](Bytes &b) { std::fill_n(b.begin() + 22, 6, 0); },    /* none */
        [](Bytes &b) { std::fill_n(b.begin() + 28, 4, 0xff); }, /* broadcast as sender */
        [](Bytes &b) { b[28] = 0xe0; },                         /* a group as sender */
        [](Bytes &b) { std::fill_n(b.begin() + 38, 4, 0); },    /* asks for no address */
        [](Bytes &b) { b[38] = 0xe0; },                         /* asks for a group */
        [](Bytes &b) { b.resize(41); },
        [](Bytes &b) { b[19] = 16; },
    };
    int i = 0;

    for (const auto &change : changes)
        EXPECT_EQ(changed(arp_request, change), NEIGH_NONE) << i++;
    EXPECT_EQ(changed(arp_reply, [](Bytes &b) { std::fill_n(b.begin() + 32, 4, 0); }), NEIGH_NONE);
}

TEST(Neigh, SolicitGolden)
{
    struct neigh n;

    EXPECT_EQ(request("020000000001", "fd00::1", "fd00::12:3456", FRAME_VLAN_NONE),
              to_hex(from_hex(solicit)));
    ASSERT_EQ(parse(from_hex(solicit), &n), NEIGH_REQUEST);
    EXPECT_EQ(text(n.sender), "fd00::1");
    EXPECT_EQ(text(n.target), "fd00::12:3456");
    EXPECT_TRUE(n.has_mac);
    EXPECT_EQ(hex_of(n.mac), "020000000001");
}

TEST(Neigh, ProbeGolden)
{
    struct neigh n;

    EXPECT_EQ(request("020000000001", "::", "fd00::12:3456", FRAME_VLAN_NONE),
              to_hex(from_hex(probe)));
    ASSERT_EQ(parse(from_hex(probe), &n), NEIGH_REQUEST);
    EXPECT_TRUE(addr_is_unset(&n.sender));
    EXPECT_FALSE(n.has_mac);
}

TEST(Neigh, AdvertGolden)
{
    struct neigh n;

    EXPECT_EQ(reply("020000000002", "fd00::12:3456", "020000000001", "fd00::1", FRAME_VLAN_NONE),
              to_hex(from_hex(advert)));
    ASSERT_EQ(parse(from_hex(advert), &n), NEIGH_REPLY);
    EXPECT_EQ(text(n.sender), "fd00::12:3456");
    EXPECT_EQ(text(n.target), "fd00::12:3456");
    EXPECT_TRUE(n.has_mac);
    EXPECT_EQ(hex_of(n.mac), "020000000002");
}

TEST(Neigh, ProbeIsAnsweredToAllNodes)
{
    struct neigh n;

    EXPECT_EQ(reply("020000000002", "fd00::12:3456", "020000000001", "::", 7),
              to_hex(from_hex(probe_answer)));
    EXPECT_EQ(parse(from_hex(probe_answer), &n), NEIGH_REPLY);
}

TEST(Neigh, MulticastMac)
{
    struct addr a = addr_of("fd00::12:3456");

    EXPECT_EQ(hex_of(neigh_multicast_mac(&a)), "3333ff123456");
}

TEST(Neigh, SolicitMalformed)
{
    const Change changes[] = {
        [](Bytes &b) { b[21] = 254; },                        /* it came through a router */
        [](Bytes &b) { b[55] = 1; },                          /* code */
        [](Bytes &b) { b[54] = 134; },                        /* router advertisement */
        [](Bytes &b) { b[62] = 0xff; },                       /* asks for a group */
        [](Bytes &b) { std::fill_n(b.begin() + 62, 16, 0); }, /* asks for no address */
        [](Bytes &b) {
            std::fill_n(b.begin() + 72, 2, 0xff); /* asks for ::ffff:0.18.52.86 */
            std::fill_n(b.begin() + 62, 10, 0);
        },
        [](Bytes &b) { b[79] = 0; },                          /* an option without length */
        [](Bytes &b) { b[79] = 2; },                          /* it ends beyond the message */
        [](Bytes &b) { b[80] = 1; },                          /* a group's hardware address */
        [](Bytes &b) { std::fill_n(b.begin() + 80, 6, 0); },  /* none */
        [](Bytes &b) { b[22] = 0xff; },                       /* a group as sender */
        [](Bytes &b) { std::fill_n(b.begin() + 22, 16, 0); }, /* a probe that gives its MAC */
        [](Bytes &b) { b[19] = 0x1f; },                       /* half an option */
        [](Bytes &b) { b[19] = 0x17; },                       /* half a target */
    };
    int i = 0;

    for (const auto &change : changes)
        EXPECT_EQ(changed6(solicit, change), NEIGH_NONE) << i++;
    /* A probe must be sent to the group of its target. */
    EXPECT_EQ(changed6(probe, [](Bytes &b) { b[53] ^= 1; }), NEIGH_NONE);
    EXPECT_EQ(changed6(probe, [](Bytes &b) { b[38] = 0xfd; }), NEIGH_NONE);
}

TEST(Neigh, AdvertMalformed)
{
    EXPECT_EQ(changed6(advert, [](Bytes &b) { b[21] = 64; }), NEIGH_NONE);
    EXPECT_EQ(changed6(advert, [](Bytes &b) { std::fill_n(b.begin() + 22, 16, 0); }), NEIGH_NONE);
    EXPECT_EQ(changed6(advert, [](Bytes &b) { b[22] = 0xff; }), NEIGH_NONE);
    /* Solicited, but sent to a group. */
    EXPECT_EQ(changed6(advert, [](Bytes &b) { b[38] = 0xff; }), NEIGH_NONE);
    EXPECT_EQ(changed6(advert,
                       [](Bytes &b) {
                           b[38] = 0xff;
                           b[58] = 0x20;
                       }),
              NEIGH_REPLY);
}

TEST(Neigh, EveryFlippedBitOfAMessageIsFound)
{
    for (const char *hex : {solicit, probe, advert})
        flip_bits(hex, 54, [](Bytes &b) {
            struct neigh n;

            EXPECT_EQ(parse(b, &n), NEIGH_NONE);
        });
}

TEST(Neigh, Options)
{
    struct neigh n;
    Bytes b;

    /* Without an option, which is legal if the host was asked directly. */
    EXPECT_EQ(changed6(solicit,
                       [](Bytes &x) {
                           x.resize(78);
                           x[19] = 0x18;
                       }),
              NEIGH_REQUEST);
    /* An unknown option is skipped. The first address of the right type counts. */
    b = from_hex(solicit);
    for (uint8_t x : from_hex("0e02 0000000000000000000000000000 0101 020000000009"))
        b.push_back(x);
    b[19] = 0x20 + 24;
    b[78] = 2; /* a target's address, which says nothing about the sender of a solicitation */
    resum6(b);
    ASSERT_EQ(parse(b, &n), NEIGH_REQUEST);
    EXPECT_EQ(hex_of(n.mac), "020000000009");
    b[78] = 1;
    resum6(b);
    ASSERT_EQ(parse(b, &n), NEIGH_REQUEST);
    EXPECT_EQ(hex_of(n.mac), "020000000001");
    b[79] = 2; /* a link-layer address of 14 bytes is not an Ethernet address */
    resum6(b);
    EXPECT_EQ(parse(b, &n), NEIGH_NONE);
}

TEST(Neigh, EveryTruncation)
{
    for (const char *hex : {arp_request, arp_reply, solicit, probe, advert}) {
        Bytes b = from_hex(hex);
        uint32_t whole = static_cast<uint32_t>(b.size());
        struct neigh n;
        struct frame f;

        frame_parse(b.data(), whole, whole, &f);
        for (uint32_t len = 0; len < whole; len++) {
            EXPECT_EQ(parse(Bytes(b.begin(), b.begin() + len), &n), NEIGH_NONE);
            /* A claim of more bytes than there are is not believed either. */
            EXPECT_EQ(neigh_parse(Exact(b.data(), len).data(), len, &f, &n), NEIGH_NONE);
        }
    }
}

TEST(Neigh, NotANeighbourMessage)
{
    struct neigh n;

    EXPECT_EQ(parse(from_hex("020000000002 020000000001 0800 4500001c 0000 4000 40 01 26df"
                             "0a000001 0a000002 08 00 f7ff 00000000"),
                    &n),
              NEIGH_NONE);
    EXPECT_EQ(changed6(solicit, [](Bytes &b) { b[54] = 128; }), NEIGH_NONE);
}

/* A poll goes to one station, and an announcement to all: both are read as what they are. */
TEST(Neigh, PollsAndAnnouncements)
{
    struct rte_ether_addr own = mac_of("020000000001"), other = mac_of("020000000002");

    for (bool v4 : {true, false}) {
        struct addr here = addr_of(v4 ? "10.0.0.1" : "fd00::1");
        struct addr there = addr_of(v4 ? "10.0.0.2" : "fd00::12:3456");
        Bytes b(128);
        struct neigh n;

        b.resize(neigh_put_poll(b.data(), &own, &here, &there, &other, FRAME_VLAN_NONE));
        ASSERT_EQ(parse(b, &n), NEIGH_REQUEST);
        EXPECT_EQ(to_hex(Bytes(b.begin(), b.begin() + 6)), "020000000002");
        EXPECT_EQ(text(n.sender), text(here));
        EXPECT_EQ(text(n.target), text(there));
        EXPECT_EQ(hex_of(n.mac), "020000000001");
        b.assign(128, 0);
        b.resize(neigh_put_announce(b.data(), &own, &here, FRAME_VLAN_NONE));
        ASSERT_EQ(parse(b, &n), v4 ? NEIGH_REQUEST : NEIGH_REPLY);
        EXPECT_EQ(b[0] & 1, 1) << "to a group";
        EXPECT_EQ(text(n.sender), text(here));
        EXPECT_EQ(text(n.target), text(here));
        EXPECT_EQ(hex_of(n.mac), "020000000001");
        EXPECT_TRUE(v4 || (n.override && !n.solicited));
    }
}
