// SPDX-License-Identifier: BSD-3-Clause
// A host refuses each forbidden call with its own error, and the call changes nothing.
#include <gtest/gtest.h>

#include <cerrno>

#include "peer.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

addr address(const char *text)
{
    addr a;

    EXPECT_EQ(addr_parse(text, &a), 0);
    return a;
}

TEST(Misuse, Services)
{
    Peer p;
    host *h = p.h();

    EXPECT_EQ(host_listen(h, 0), -EINVAL);
    EXPECT_EQ(host_listen(h, 7), -EADDRINUSE);
    for (uint16_t s = 100; s < 100 + HOST_SERVICES_MAX - 1; s++)
        EXPECT_EQ(host_listen(h, s), 0);
    EXPECT_EQ(host_listen(h, 99), -ENOSPC);
    EXPECT_EQ(host_accept(h, 0, 1, 1), -ENOENT);
    EXPECT_EQ(host_accept(h, 99, 1, 1), -ENOENT);
    for (uint32_t i = 0; i < p.opt.conns; i++)
        EXPECT_GE(host_accept(h, 100, 1, i), 0);
    EXPECT_EQ(host_accept(h, 100, 1, 1), -ENOSPC);
    host_unlisten(h, 0);
    host_unlisten(h, 99);
    host_unlisten(h, 100);
    EXPECT_EQ(host_accept(h, 100, 1, 1), -ENOENT);
    p.run(kMs);
    ASSERT_EQ(p.log.size(), p.opt.conns);
    for (const host_completion &c : p.log)
        EXPECT_EQ(c.status, -ECANCELED);
}

// Waiting connections can be closed in any order.
TEST(Misuse, WaitingOnesAreClosedInAnyOrder)
{
    Peer p;
    int64_t c[3];

    for (int64_t &i : c)
        i = host_accept(p.h(), 7, 1, 1);
    for (int i : {1, 2, 0})
        host_close(p.h(), static_cast<uint32_t>(c[i]), WIRE_END_ABORT, p.now());
    host_close(p.h(), static_cast<uint32_t>(c[0]), WIRE_END_ABORT, p.now());
    p.run(kMs);
    p.open_to_host();
    EXPECT_EQ(p.counter("conns_accepted"), 1u);
}

TEST(Misuse, Connect)
{
    Peer p;
    auto connect = [&](const char *to, uint16_t service) {
        struct host_connect op = {};

        if (to != nullptr)
            op.peer = address(to);
        op.service = service;
        return host_connect(p.h(), &op, p.now());
    };

    EXPECT_EQ(connect(nullptr, 1), -EINVAL);
    EXPECT_EQ(connect("224.0.0.1", 1), -EINVAL);
    EXPECT_EQ(connect("fd00::2", 1), -EINVAL);
    EXPECT_EQ(connect("10.0.0.1", 1), -EINVAL);
    EXPECT_EQ(connect("10.0.0.2", 0), -EINVAL);
    EXPECT_EQ(connect("192.168.1.1", 1), -EHOSTUNREACH);
    for (uint32_t i = 0; i < p.opt.conns; i++)
        EXPECT_GE(connect("10.0.0.2", 1), 0);
    EXPECT_EQ(connect("10.0.0.2", 1), -ENOSPC);
}

TEST(Misuse, Operations)
{
    Peer p;
    uint8_t byte = 0;
    struct host_send op = {};

    op.pieces[0] = {&byte, 1};
    EXPECT_EQ(host_send(p.h(), 0, &op, p.now()), -ENOTCONN);
    EXPECT_EQ(host_send(p.h(), 1000, &op, p.now()), -ENOTCONN);
    EXPECT_EQ(host_recv(p.h(), 0, &byte, 1, 1, p.now()), -ENOTCONN);
    EXPECT_EQ(host_recv(p.h(), 1000, &byte, 1, 1, p.now()), -ENOTCONN);
    EXPECT_EQ(host_shutdown(p.h(), 0, 1, p.now()), -ENOTCONN);
    host_close(p.h(), 0, WIRE_END_ABORT, p.now());
    EXPECT_TRUE(host_conn_gone(p.h(), 0));
    p.open_to_host();
    EXPECT_FALSE(host_conn_gone(p.h(), p.conn));
    op.pieces[0].len = (1ull << 32) + 1;
    EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), -EMSGSIZE);
    op.pieces[0].len = 1;
    op.pieces[1] = {&byte, 1ull << 32};
    EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), -EMSGSIZE);
    op.pieces[1].len = 0;
    for (int i = 0; i < 16; i++) {
        EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), 0);
        EXPECT_EQ(host_recv(p.h(), p.conn, &byte, 1, 1, p.now()), 0);
    }
    EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), -ENOBUFS);
    EXPECT_EQ(host_recv(p.h(), p.conn, &byte, 1, 1, p.now()), -ENOBUFS);
    EXPECT_EQ(p.shutdown(5), 0);
    EXPECT_EQ(p.shutdown(5), -EPIPE);
    EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), -EPIPE);
    p.close();
    EXPECT_EQ(host_recv(p.h(), p.conn, &byte, 1, 1, p.now()), -ENOTCONN);
    p.close();
    struct host_conn_info info;
    EXPECT_FALSE(host_conn_info(p.h(), 1000, &info));
    EXPECT_EQ(host_conn_limit(p.h()), p.opt.conns);
}

// host_create() refuses impossible configurations and names the reason.
TEST(Misuse, Configurations)
{
    Peer p;
    auto fault = [&](auto change) {
        host_config c = *host_get_config(p.h());
        char err[200] = "";

        change(c);
        EXPECT_EQ(host_create(&c, 0, err, sizeof err), nullptr);
        return std::string(err);
    };
    auto says = [](const std::string &s, const char *word) { return s.find(word) != s.npos; };

    EXPECT_TRUE(says(fault([](host_config &c) { c.conns = 0; }), "connections"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.conns = 1u << 21; }), "connections"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.depth = 0; }), "depth"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.depth = 3; }), "depth"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.depth = 1u << 17; }), "depth"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.gaps = 1; }), "gaps"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.mtu = 500; }), "mtu"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.mtu = 0; }), "mtu"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.address[0] = addr(); }), "address"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.workers = 0; }), "workers"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.workers = 33; }), "workers"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.worker = 1; }), "workers"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.silence_ms = 0; }), "silence"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.repeat_us = 0; }), "repeat"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.hz = 0; }), "hz"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.udp_port = 0; }), "udp_port"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.head_pool = nullptr; }), "pools"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.attach_pool = nullptr; }), "pools"));
    EXPECT_TRUE(says(fault([](host_config &c) { c.conns = 1u << 20; }), "memory"));
    host_destroy(nullptr);
    char err[200] = "";
    EXPECT_EQ(host_control_create(nullptr, 0, 0, err, sizeof err), nullptr);
    EXPECT_NE(err[0], '\0');
}

} // namespace
