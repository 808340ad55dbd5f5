// SPDX-License-Identifier: BSD-3-Clause
// Which users may accept on a service and connect to a peer: the rule itself, against its table,
// and what a daemon makes of it for its clients, also when the rules change.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

extern "C" {
#include "sluiced/session/access.h"
}

namespace
{

constexpr uid_t kAlice = 12345, kBob = 12346;
constexpr gid_t kStaff = 12400, kOther = 12401;

struct config_users users_of(const std::string &text)
{
    struct config_users u = {};
    char cause[128] = "";

    EXPECT_EQ(config_users_parse(text.c_str(), &u, cause, sizeof cause), 0) << cause;
    return u;
}

struct Rules {
    // "" : no list
    void service(uint32_t number, const std::string &users)
    {
        struct config_service &s = c.services[c.n_services++];

        s.number = number;
        snprintf(s.name, sizeof s.name, "%s", number == 0 ? "*" : std::to_string(number).c_str());
        s.users = users_of(users);
    }
    void peer(const std::string &name, const std::string &address, uint32_t len,
              const std::string &users, bool secured = true)
    {
        struct config_peer &p = c.peers[c.n_peers++];

        snprintf(p.name, sizeof p.name, "%s", name.c_str());
        EXPECT_EQ(addr_parse(address.c_str(), &p.address[0].addr), 0);
        p.address[0].len = len;
        if (!users.empty())
            p.users = users_of(users);
        p.public_key[0] = secured;
    }
    struct access *make() const
    {
        return access_make(&c);
    }

    struct config c = {};
};

struct addr address_of(const std::string &text)
{
    struct addr a;

    EXPECT_EQ(addr_parse(text.c_str(), &a), 0);
    return a;
}

// ---- the rule ----------------------------------------------------------------------------------

TEST(Access, Table)
{
    const gid_t in_staff[] = {7, kStaff, kOther + 1}, elsewhere[] = {7, kOther};
    const struct access_user root = {true, 0, 0, nullptr}, alice = {false, kAlice, 2, elsewhere},
                             bob = {false, kBob, 3, in_staff}, nobody = {false, 99, 0, nullptr};
    const struct {
        const char *users;
        bool alice, bob, nobody; // root always may
    } table[] = {
        {"", true, true, true},
        {"0", false, false, false},
        {"12345", true, false, false},
        {"12346 12345", true, true, false},
        {"12345,12346", true, true, false},
        {"@12400", false, true, false},
        {"@12401", true, false, false},
        {"@12402", false, true, false},
        {"99 @12400", false, true, true},
        {"12400", false, false, false}, // a user's number is no group's
        {"@12345", false, false, false},
    };

    for (const auto &t : table) {
        struct config_users users = {};

        if (t.users[0] != 0)
            users = users_of(t.users);
        EXPECT_TRUE(access_allows(&users, &root)) << t.users;
        EXPECT_EQ(access_allows(&users, &alice), t.alice) << t.users;
        EXPECT_EQ(access_allows(&users, &bob), t.bob) << t.users;
        EXPECT_EQ(access_allows(&users, &nobody), t.nobody) << t.users;
    }
}

TEST(Access, WhichSectionOfAService)
{
    Rules r;
    EXPECT_EQ(access_service(nullptr, 7000), nullptr);
    r.service(7000, "12345");
    struct access *a = r.make();
    EXPECT_STREQ(access_service(a, 7000)->name, "7000");
    EXPECT_EQ(access_service(a, 7001), nullptr);
    free(a);
    Rules stars;
    stars.service(0, "0"); // wherever it stands
    stars.service(7000, "12345");
    a = stars.make();
    EXPECT_STREQ(access_service(a, 7000)->name, "7000");
    EXPECT_STREQ(access_service(a, 7001)->name, "*");
    free(a);
}

TEST(Access, WhichSectionOfAPeer)
{
    Rules r;
    const struct addr in_both = address_of("10.1.0.7"), in_net = address_of("10.1.9.9"),
                      far = address_of("10.2.0.1"), other = address_of("fd00::1");

    EXPECT_EQ(access_peer(nullptr, &in_both), nullptr);
    r.peer("net", "10.1.0.0", 24, "12345", false);
    r.peer("keyed", "10.1.0.0", 16, "12346");
    struct access *a = r.make();
    EXPECT_STREQ(access_peer(a, &in_both)->name, "keyed") << "a key goes before the order";
    EXPECT_STREQ(access_peer(a, &in_net)->name, "keyed");
    EXPECT_EQ(access_peer(a, &far), nullptr);
    EXPECT_EQ(access_peer(a, &other), nullptr);
    free(a);
    Rules plain;
    plain.peer("one", "10.1.0.0", 24, "12345", false);
    plain.peer("all", "10.0.0.0", 8, "12346", false);
    a = plain.make();
    EXPECT_STREQ(access_peer(a, &in_both)->name, "one") << "the first that matches";
    EXPECT_STREQ(access_peer(a, &far)->name, "all");
    free(a);
}

// ---- a daemon and its clients ------------------------------------------------------------------

class AccessTest : public DaemonTest
{
  protected:
    void SetUp() override
    {
        DaemonTest::SetUp();
        if (geteuid() != 0)
            GTEST_SKIP() << "needs root to change the user";
    }

    void start_with(const Rules &r)
    {
        config.access = r.make();
        start();
        ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    }

    void become(uid_t uid, gid_t gid, const std::vector<gid_t> &groups)
    {
        // These calls change this thread only, so the threads of the daemon stay root.
        ASSERT_EQ(syscall(SYS_setgroups, groups.size(), groups.data()), 0);
        ASSERT_EQ(syscall(SYS_setresgid, -1, gid, -1), 0);
        ASSERT_EQ(syscall(SYS_setresuid, -1, uid, -1), 0);
    }

    void become_root()
    {
        ASSERT_EQ(syscall(SYS_setresuid, -1, 0, -1), 0);
        ASSERT_EQ(syscall(SYS_setresgid, -1, 0, -1), 0);
        ASSERT_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
    }

    struct sluice *open_as(uid_t uid, gid_t gid = kOther, const std::vector<gid_t> &groups = {})
    {
        become(uid, gid, groups);
        struct sluice *s = open();
        become_root();
        return s;
    }
};

TEST_F(AccessTest, ServiceByUserAndGroup)
{
    Rules r;
    r.service(7000, "12345 @12400");
    r.service(0, "0");
    start_with(r);
    struct sluice *root = open(), *alice = open_as(kAlice), *bob = open_as(kBob),
                  *primary = open_as(kBob, kStaff),
                  *further = open_as(kBob, kOther, {1, kStaff, 90000});

    EXPECT_EQ(sluice_listen(bob, 7000), -EACCES);
    EXPECT_STREQ(sluice_error(bob),
                 "port 7000 is not for user 12346: add the user to users in [service 7000] of "
                 "sluiced's configuration, or choose another port");
    for (struct sluice *s : {alice, primary, further, root}) {
        EXPECT_EQ(sluice_listen(s, 7000), 0) << sluice_error(s);
        EXPECT_EQ(sluice_unlisten(s, 7000), 0);
    }
    for (struct sluice *s : {alice, bob, primary, further}) {
        EXPECT_EQ(sluice_listen(s, 7001), -EACCES);
        EXPECT_NE(strstr(sluice_error(s), "[service *]"), nullptr) << sluice_error(s);
    }
    EXPECT_EQ(sluice_listen(root, 7001), 0) << sluice_error(root);
    for (struct sluice *s : {root, alice, bob, primary, further})
        sluice_close(s);
}

TEST_F(AccessTest, WhoHasAPortIsToldToItsUserAndToRoot)
{
    start_with(Rules());
    struct sluice *alice = open_as(kAlice), *same = open_as(kAlice), *bob = open_as(kBob),
                  *root = open();
    std::string pid = "process " + std::to_string(getpid()), user = std::to_string(kAlice);

    ASSERT_EQ(sluice_listen(alice, 7000), 0);
    for (struct sluice *s : {same, root}) {
        EXPECT_EQ(sluice_listen(s, 7000), -EADDRINUSE);
        EXPECT_NE(strstr(sluice_error(s), pid.c_str()), nullptr) << sluice_error(s);
    }
    EXPECT_EQ(sluice_listen(bob, 7000), -EADDRINUSE);
    EXPECT_EQ(strstr(sluice_error(bob), std::to_string(getpid()).c_str()), nullptr)
        << sluice_error(bob);
    EXPECT_EQ(strstr(sluice_error(bob), user.c_str()), nullptr) << sluice_error(bob);
    for (struct sluice *s : {alice, same, bob, root})
        sluice_close(s);
}

TEST_F(AccessTest, PeerByUser)
{
    Rules r;
    struct sluice_conn *c;
    r.peer("b", "10.0.0.8", 32, "12345");
    start_with(r);
    struct sluice *alice = open_as(kAlice), *bob = open_as(kBob), *root = open();

    EXPECT_EQ(sluice_connect(bob, "10.0.0.8", 0, 1, &c), -EACCES);
    EXPECT_STREQ(sluice_error(bob), "peer b is not for user 12346: add the user to users in [peer "
                                    "b] of sluiced's configuration");
    EXPECT_EQ(sluice_connect(bob, "10.0.0.9", 0, 1, &c), 0) << sluice_error(bob);
    EXPECT_EQ(sluice_connect(alice, "10.0.0.8", 0, 1, &c), 0) << sluice_error(alice);
    EXPECT_EQ(sluice_connect(root, "10.0.0.8", 0, 1, &c), 0) << sluice_error(root);
    for (struct sluice *s : {alice, bob, root})
        EXPECT_EQ(take(s, 1)[0].status, -ECONNREFUSED);
    for (struct sluice *s : {alice, bob, root})
        sluice_close(s);
}

/* The worker does not rely on a client that asks control first. */
TEST_F(AccessTest, PeerWithoutAskingForTheRoute)
{
    Rules r;
    struct protocol_submission e = {};
    struct protocol_completion d = {};
    struct addr b = address_of("10.0.0.8"), other = address_of("10.0.0.9");
    r.peer("b", "10.0.0.8", 32, "12345");
    start_with(r);
    RawClient c;

    become(kBob, kOther, {});
    ASSERT_TRUE(c.open(path));
    become_root();
    e.op = PROTOCOL_CONNECT;
    e.u.connect.service = 7000;
    memcpy(e.u.connect.peer, b.b, sizeof e.u.connect.peer);
    c.submit(0, e);
    ASSERT_TRUE(eventually([&] { return c.take(0, &d); }));
    EXPECT_EQ(d.status, -EACCES);
    e.handle = 1;
    memcpy(e.u.connect.peer, other.b, sizeof e.u.connect.peer);
    c.submit(0, e);
    ASSERT_TRUE(eventually([&] { return c.take(0, &d); }));
    EXPECT_EQ(d.status, -ECONNREFUSED);
}

/* A reload that takes a service away ends the session that has it, and says why. Others go on. */
TEST_F(AccessTest, ReloadTakesAServiceAway)
{
    Rules before, after;
    struct sluice_completion d;
    start_with(before);
    struct sluice *alice = open_as(kAlice), *bob = open_as(kBob), *root = open();
    struct sluice_conn *c;

    ASSERT_EQ(sluice_listen(alice, 7000), 0);
    ASSERT_EQ(sluice_accept(alice, 7000, 0, 5, &c), 0);
    ASSERT_EQ(sluice_listen(bob, 7001), 0);
    ASSERT_EQ(sluice_listen(root, 7002), 0);
    after.service(7000, "12346");
    after.service(7001, "12346");
    after.service(0, "0");
    fake_daemon_reload(daemon, after.make());
    EXPECT_EQ(sluice_poll(alice, &d, 1, 10000), 1);
    EXPECT_EQ(d.status, -ENOTCONN);
    EXPECT_EQ(sluice_poll(alice, &d, 1, 10000), -ENOTCONN);
    EXPECT_NE(strstr(sluice_error(alice), "[service 7000]"), nullptr) << sluice_error(alice);
    EXPECT_EQ(sluice_accept(bob, 7001, 0, 6, &c), 0) << sluice_error(bob);
    EXPECT_TRUE(eventually([&] { return sluice_listen(bob, 7000) == 0; })) << sluice_error(bob);
    EXPECT_EQ(sluice_listen(root, 7003), 0) << sluice_error(root);
    for (struct sluice *s : {alice, bob, root})
        sluice_close(s);
}

/* A reload that takes a peer away ends the connections that were opened to it, and no others. */
TEST_F(AccessTest, ReloadTakesAPeerAway)
{
    Rules after;
    struct sluice_conn *c[2], *b[2];
    struct sluice_completion d;
    start_with(Rules());
    struct sluice *alice = open_as(kAlice), *bob = open_as(kBob), *root = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(root, 4096));

    // Four connections: alice and bob to 10.0.0.1 and 10.0.0.3, which lead to channel 1.
    ASSERT_EQ(sluice_listen(root, 7000), 0);
    for (int i = 0; i < 4; i++) {
        struct sluice_conn *in;

        ASSERT_EQ(sluice_accept(root, 7000, 1, 100 + i, &in), 0);
        ASSERT_EQ(sluice_recv(in, m, 4096, 200 + i), 0);
    }
    const char *peers[2] = {"10.0.0.1", "10.0.0.3"};
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(sluice_connect(alice, peers[i], 0, 1, &c[i]), 0);
        EXPECT_EQ(take(alice, 1)[0].status, 0);
        ASSERT_EQ(sluice_connect(bob, peers[i], 0, 1, &b[i]), 0);
        EXPECT_EQ(take(bob, 1)[0].status, 0);
    }
    take(root, 4);
    auto *own = static_cast<uint8_t *>(sluice_alloc(alice, 4096));
    ASSERT_EQ(sluice_recv(c[0], own, 1, 7), 0);
    ASSERT_EQ(sluice_recv(c[1], own, 1, 8), 0);
    ASSERT_EQ(sluice_send(c[1], own, 1, 9), 0); // the worker has taken what was before this
    EXPECT_EQ(take(alice, 1)[0].user, 9u);
    EXPECT_EQ(take(root, 1)[0].status, 0);
    after.peer("one", "10.0.0.1", 32, "12346");
    fake_daemon_reload(daemon, after.make());
    struct sluice_completion lost = take(alice, 1)[0];
    EXPECT_EQ(lost.user, 7u);
    EXPECT_EQ(lost.status, -EACCES);
    EXPECT_EQ(sluice_poll(alice, &d, 1, 50), 0) << "the connection to the other peer goes on";
    EXPECT_EQ(take(root, 1)[0].status, -ECONNRESET);
    EXPECT_EQ(sluice_poll(root, &d, 1, 50), 0) << "only one connection ended";
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(sluice_conn_close(c[i]), 0);
        ASSERT_EQ(sluice_conn_close(b[i]), 0);
    }
    EXPECT_EQ(sluice_connect(alice, "10.0.0.1", 0, 1, &c[0]), -EACCES);
    for (struct sluice *s : {alice, bob, root})
        sluice_close(s);
}

/* Many reloads in a row, while clients come and connect: the rules that count are the newest. */
TEST_F(AccessTest, ReloadsInARow)
{
    struct sluice_conn *c;
    start_with(Rules());
    struct sluice *alice = open_as(kAlice);

    for (int i = 0; i < 200; i++) {
        Rules r;

        r.peer("b", "10.0.0.8", 32, i % 2 == 0 ? "12346" : "12345");
        fake_daemon_reload(daemon, r.make());
        int rc = sluice_connect(alice, "10.0.0.8", 0, 1, &c);
        ASSERT_EQ(rc, i % 2 == 0 ? -EACCES : 0) << i;
        if (rc == 0) {
            int status = take(alice, 1)[0].status;

            /* a worker that has not heard yet still goes by the rules before */
            EXPECT_TRUE(status == -ECONNREFUSED || status == -EACCES) << status;
            ASSERT_EQ(sluice_conn_close(c), 0);
        }
    }
    /* In the end, the workers have the newest ones, too. */
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(sluice_connect(alice, "10.0.0.8", 0, 1, &c), 0) << sluice_error(alice);
        int status = take(alice, 1)[0].status;
        EXPECT_EQ(sluice_conn_close(c), 0);
        return status == -ECONNREFUSED;
    }));
    sluice_close(alice);
}

// ---- the peer's name ---------------------------------------------------------------------------

TEST_F(DaemonTest, PeerName)
{
    struct sluice_conn *c[2];
    char name[SLUICE_PEER_MAX], small[5] = "left";
    const std::string longest(SLUICE_PEER_MAX - 1, 'x');

    for (const std::string &text : {std::string("alice"), longest, std::string()}) {
        config.host.peer_name = text.c_str();
        start();
        struct sluice *s = open();
        pair(s, c);
        EXPECT_EQ(sluice_listen(s, 0), -EINVAL);
        std::string error = sluice_error(s);
        snprintf(name, sizeof name, "left");
        EXPECT_EQ(sluice_peer(c[0], name, sizeof name), -ENOENT) << "the opener knows none";
        EXPECT_STREQ(name, "");
        EXPECT_EQ(sluice_error(s), error) << "no name is no failure";
        EXPECT_EQ(sluice_peer(c[1], name, sizeof name), text.empty() ? -ENOENT : 0);
        EXPECT_EQ(name, text);
        EXPECT_EQ(sluice_peer(c[1], small, sizeof small), text.empty() ? -ENOENT : -EMSGSIZE);
        EXPECT_STREQ(small, "") << "never a part of a name";
        sluice_close(s);
        stop();
    }
}

} // namespace
