/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: how they open, their services, their tables, and every way in which they end. */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

class SessionTest : public DaemonTest
{
  protected:
    /* Waits for BYE. */
    static struct protocol_reply bye(RawClient &c)
    {
        struct protocol_reply a = {};

        while (c.receive(&a) && a.type != PROTOCOL_BYE)
            ;
        return a;
    }
};

TEST_F(SessionTest, OpeningSaysWhatIsWrong)
{
    struct sluice *s;
    char err[300] = "";

    EXPECT_EQ(sluice_open(&s, "/tmp/no-such-socket", err, sizeof err), -ENOENT);
    EXPECT_EQ(s, nullptr);
    EXPECT_NE(strstr(err, "start sluiced"), nullptr) << err;
    EXPECT_EQ(sluice_open(&s, std::string(200, 'x').c_str(), err, sizeof err), -ENAMETOOLONG);
    sluice_close(nullptr);
    /* Once the daemon has started, a client can connect. */
    start();
    RawClient c;
    ASSERT_TRUE(c.connect(path));
}

TEST_F(SessionTest, TwoDaemonsOnOneSocket)
{
    char err[300] = "";

    start();
    EXPECT_EQ(fake_daemon_start(&config, err, sizeof err), nullptr);
    EXPECT_NE(strstr(err, "another daemon"), nullptr) << err;
    sluice_close(open());
    stop();
    EXPECT_NE(access(path.c_str(), F_OK), 0) << "the socket is removed";
    start();
    struct stat st;
    ASSERT_EQ(stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0660u);
}

TEST_F(SessionTest, StaleSocketIsReplacedAndFilesAreNot)
{
    char err[300] = "";

    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    struct sockaddr_un {
        sa_family_t family;
        char name[108];
    } a = {AF_UNIX, ""};
    snprintf(a.name, sizeof a.name, "%s", path.c_str());
    ASSERT_EQ(bind(fd, reinterpret_cast<struct sockaddr *>(&a), sizeof a), 0);
    close(fd);
    start();
    sluice_close(open());
    stop();
    FILE *f = fopen(path.c_str(), "w");
    ASSERT_NE(f, nullptr);
    fclose(f);
    config.socket_path = path.c_str();
    EXPECT_EQ(fake_daemon_start(&config, err, sizeof err), nullptr);
    EXPECT_NE(strstr(err, "in the way"), nullptr) << err;
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
    unlink(path.c_str());
}

TEST_F(SessionTest, ServicesAreExclusiveAndComeBack)
{
    start();
    struct sluice *a = open(), *b = open();

    ASSERT_EQ(sluice_listen(a, 7000), 0);
    EXPECT_EQ(services(), 2u);
    EXPECT_EQ(sluice_listen(b, 7000), -EADDRINUSE);
    EXPECT_NE(strstr(sluice_error(b), std::to_string(getpid()).c_str()), nullptr)
        << sluice_error(b);
    EXPECT_EQ(sluice_unlisten(b, 7000), -ENOENT);
    EXPECT_EQ(sluice_listen(a, 0), -EINVAL);
    ASSERT_EQ(sluice_unlisten(a, 7000), 0);
    EXPECT_EQ(services(), 0u);
    ASSERT_EQ(sluice_listen(b, 7000), 0);
    sluice_close(b);
    EXPECT_EQ(sluice_listen(a, 7000), 0) << sluice_error(a);
    for (uint16_t p = 1; p < PROTOCOL_SERVICES_MAX; p++)
        EXPECT_EQ(sluice_listen(a, p), 0);
    EXPECT_EQ(sluice_listen(a, 99), -ENOSPC);
    sluice_close(a);
    EXPECT_EQ(services(), 0u);
}

/* One worker has no room for the service, so no worker listens. */
TEST_F(SessionTest, ListenIsAllOrNothing)
{
    config.last_services_max = 1;
    config.channels = 3;
    start();
    struct sluice *s = open();

    ASSERT_EQ(sluice_listen(s, 1), 0);
    EXPECT_EQ(services(), 3u);
    EXPECT_EQ(sluice_listen(s, 2), -ENOSPC);
    EXPECT_EQ(services(), 3u);
    ASSERT_EQ(sluice_unlisten(s, 1), 0);
    EXPECT_EQ(sluice_listen(s, 2), 0) << sluice_error(s);
    EXPECT_EQ(services(), 3u);
    sluice_close(s);
}

/* Only the session that listens on a service accepts on it. */
TEST_F(SessionTest, NobodyAcceptsOnAnotherSessionsService)
{
    struct sluice_conn *c;

    start();
    struct sluice *a = open(), *b = open();
    ASSERT_EQ(sluice_listen(a, 7000), 0);
    ASSERT_EQ(sluice_accept(b, 7000, 0, 1, &c), 0);
    EXPECT_EQ(take(b, 1)[0].status, -ENOENT);
    sluice_close(a);
    sluice_close(b);
}

TEST_F(SessionTest, ShowComesInParts)
{
    char *json;

    start();
    struct sluice *s = open();
    ASSERT_EQ(sluice_show(s, "conns", &json), 0) << sluice_error(s);
    ASSERT_EQ(strlen(json), config.show_bytes);
    for (uint32_t i = 0; i < config.show_bytes; i++)
        ASSERT_EQ(json[i], static_cast<char>('a' + i % 23));
    free(json);
    EXPECT_EQ(sluice_show(s, "nonsense", &json), -EINVAL);
    EXPECT_EQ(json, nullptr);
    EXPECT_NE(strstr(sluice_error(s), "nonsense"), nullptr);
    sluice_close(s);
}

// While control makes a text, it does nothing for anybody else. Clients that ask for many do not
// keep it from that.
TEST_F(SessionTest, TextsAreMadeOneAtATime)
{
    constexpr int kTexts = 8;
    RawClient clients[3];
    struct protocol_request q = {};
    struct protocol_reply a;

    start();
    q.magic = PROTOCOL_MAGIC;
    q.version = PROTOCOL_VERSION;
    for (RawClient &c : clients) {
        ASSERT_TRUE(c.connect(path));
        ASSERT_EQ(c.ask(PROTOCOL_HELLO).status, 0);
    }
    q.type = PROTOCOL_SHOW;
    strcpy(q.u.show.what, "conns");
    for (int i = 0; i < kTexts; i++)
        for (RawClient &c : clients)
            ASSERT_TRUE(c.send(&q, sizeof q));
    for (int i = 0; i < kTexts; i++)
        for (RawClient &c : clients) {
            ASSERT_TRUE(c.receive(&a));
            EXPECT_EQ(a.status, 0);
            EXPECT_EQ(a.u.part.total_bytes, config.show_bytes);
        }
    EXPECT_EQ(fake_daemon_texts_max(daemon), 1u);
    ASSERT_TRUE(clients[0].send(&q, sizeof q));
    clients[0].hang_up(); // before its turn, perhaps
}

TEST_F(SessionTest, StoppedDaemonEndsEverythingWithAReason)
{
    struct sluice_conn *c[2];
    struct sluice_completion d[8];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 4096));
    pair(s, c);
    for (uint64_t i = 0; i < 3; i++)
        ASSERT_EQ(sluice_recv(c[1], m, 1, i), 0);
    stop();
    EXPECT_EQ(sluice_poll(s, d, 8, 5000), 3);
    for (uint64_t i = 0; i < 3; i++) {
        EXPECT_EQ(d[i].user, i);
        EXPECT_EQ(d[i].status, -ENOTCONN);
    }
    EXPECT_EQ(sluice_poll(s, d, 8, 5000), -ENOTCONN);
    EXPECT_NE(strstr(sluice_error(s), "stopping"), nullptr) << sluice_error(s);
    EXPECT_EQ(sluice_send(c[0], m, 1, 0), -ENOTCONN);
    EXPECT_EQ(sluice_send_sync(c[0], m, 1), -ENOTCONN);
    EXPECT_EQ(sluice_alloc(s, 4096), nullptr);
    EXPECT_EQ(sluice_conn_close(c[0]), 0);
    sluice_close(s);
}

TEST_F(SessionTest, DeadClientLeavesNothing)
{
    struct sluice_conn *c;
    struct fake_counts n;
    struct protocol_submission e = {};

    config.quota_bytes = 64 << 20;
    config.host.linger = 50;
    start();
    long before = descriptors();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 4096));
    for (uint32_t round = 0; round < 20; round++) {
        RawClient dying;

        ASSERT_TRUE(dying.open(path)) << round;
        struct protocol_request q = {};
        q.type = PROTOCOL_LISTEN;
        q.u.service = 7000;
        int listens = -EADDRINUSE; // until control knows, too, that the last client is gone
        EXPECT_TRUE(eventually([&] {
            listens = dying.ask(q).status;
            return listens != -EADDRINUSE;
        }));
        ASSERT_EQ(listens, 0);
        int fd = raw_memfd(16 << 20, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        struct protocol_reply a = dying.region(fd, 16 << 20);
        ASSERT_EQ(a.status, 0) << a.text;
        close(fd);
        e = {};
        e.op = PROTOCOL_ACCEPT;
        e.u.connect.service = 7000;
        dying.submit(0, e);
        e = {};
        e.op = PROTOCOL_SEND;
        e.u.pieces[0] = {0, 16 << 20, a.u.region_id, 0};
        for (int i = 0; i < 10; i++)
            dying.submit(0, e);
        ASSERT_EQ(sluice_connect(s, "10.0.0.2", 0, 1, &c), 0);
        EXPECT_EQ(take(s, 1)[0].status, 0);
        ASSERT_EQ(sluice_recv(c, m, 1, 2), 0);
        if (round % 2 == 0)
            dying.hang_up();
        else
            shutdown(dying.sock, SHUT_WR);
        int status = take(s, 1)[0].status;
        EXPECT_TRUE(status == -ECONNRESET || status == -EMSGSIZE) << status;
        ASSERT_EQ(sluice_conn_close(c), 0);
        EXPECT_TRUE(eventually([&] { return conns() == 0 && services() == 0; }));
    }
    sluice_close(s);
    EXPECT_TRUE(eventually([&] { return fake_daemon_mapped_bytes(daemon) == 0; }));
    fake_daemon_counts(daemon, 0, &n);
    EXPECT_EQ(n.ends[1], 40u) << "all connections ended by abort";
    EXPECT_TRUE(eventually([&] { return descriptors() == before; }));
    RawClient last;
    ASSERT_TRUE(last.open(path));
    EXPECT_EQ(last.ask(PROTOCOL_HELLO).u.limits.used_bytes, last.layout.total_bytes);
}

TEST_F(SessionTest, DyingAtAnyMomentOfOpening)
{
    config.max_sessions = 2;
    start();
    for (int round = 0; round < 300; round++) {
        RawClient c;
        struct protocol_request q = {};
        int fd = raw_memfd(32 << 20, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (round % 3 == 0) {
            ASSERT_TRUE(eventually([&] { return c.open(path) || (c.hang_up(), false); }));
            q.type = PROTOCOL_REGION;
            q.u.region_bytes = 32 << 20;
        } else {
            ASSERT_TRUE(c.connect(path));
            q.magic = PROTOCOL_MAGIC;
            q.version = PROTOCOL_VERSION;
            q.type = PROTOCOL_HELLO;
            c.send(&q, sizeof q);
            q.type = PROTOCOL_SESSION;
            q.u.session = {2, 64, 64, 128, protocol_layout_for(2, 64, 64, 128).total_bytes};
            if (ftruncate(fd, static_cast<off_t>(q.u.session.len_bytes)) != 0)
                FAIL();
        }
        q.magic = PROTOCOL_MAGIC;
        q.version = PROTOCOL_VERSION;
        c.send(&q, sizeof q, &fd, 1);
        close(fd);
        usleep(static_cast<useconds_t>(round % 7) * 300);
    }
    EXPECT_TRUE(eventually([&] {
        struct sluice *s;
        char err[300];

        bool ok = sluice_open(&s, path.c_str(), err, sizeof err) == 0;
        sluice_close(s);
        return ok;
    }));
    EXPECT_TRUE(eventually([&] { return fake_daemon_mapped_bytes(daemon) == 0; }));
}

TEST_F(SessionTest, SenselessIndicesEndThatSessionOnly)
{
    struct sluice_conn *c[2];

    start();
    struct sluice *s = open();
    pair(s, c);
    for (uint32_t tail : {65u, 0x80000000u, 0xffffffffu}) {
        RawClient bad;

        ASSERT_TRUE(bad.open(path));
        __atomic_store_n(&bad.ring(1)->sq_tail, tail, __ATOMIC_RELEASE);
        struct protocol_reply a = bye(bad);
        EXPECT_EQ(a.status, -EPROTO);
        EXPECT_NE(strstr(a.text, "submission ring"), nullptr) << a.text;
        EXPECT_FALSE(bad.receive(&a)) << "then the socket closes";
    }
    /* The daemon checks the completion index when the ring seems full. */
    RawClient bad;
    struct protocol_submission e = {};
    ASSERT_TRUE(bad.open(path));
    __atomic_store_n(&bad.ring(0)->cq_head, 1000, __ATOMIC_RELEASE);
    e.op = PROTOCOL_RECV;
    e.handle = 5;
    for (int i = 0; i < 64; i++)
        bad.submit(0, e);
    usleep(20000);
    bad.submit(0, e);
    struct protocol_reply a = bye(bad);
    EXPECT_NE(strstr(a.text, "completion ring"), nullptr) << a.text;
    struct sluice_stats t;
    sluice_conn_stats(c[0], &t);
    EXPECT_EQ(t.state, 3u);
    sluice_close(s);
}

/* A client that takes no completions gets no further service, and harms no other client. */
TEST_F(SessionTest, CompletionRingIsNeverOverrun)
{
    struct protocol_submission e = {};
    struct protocol_completion d;

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    e.op = PROTOCOL_RECV;
    for (uint32_t i = 0; i < 64; i++) {
        e.user = i;
        c.submit(0, e);
    }
    ASSERT_TRUE(eventually([&] { return c.ring(0)->sq_head == 64; }));
    for (uint32_t i = 64; i < 100; i++) {
        e.user = i;
        c.submit(0, e);
    }
    usleep(20000);
    EXPECT_EQ(c.ring(0)->sq_head, 64u);
    EXPECT_EQ(c.ring(0)->cq_tail, 64u);
    for (uint32_t i = 0; i < 100; i++) {
        ASSERT_TRUE(eventually([&] { return c.take(0, &d); }));
        EXPECT_EQ(d.user, i);
        EXPECT_EQ(d.status, -EBADMSG);
    }
}

/* Operations under way have places reserved in the completion ring. */
TEST_F(SessionTest, CompletionsOwedAreCounted)
{
    struct protocol_request q = {};
    struct protocol_submission e = {};
    struct protocol_completion d;
    struct sluice_conn *peer;

    start();
    struct sluice *s = open();
    RawClient c;
    ASSERT_TRUE(c.open(path, 16));
    q.type = PROTOCOL_LISTEN;
    q.u.service = 7000;
    ASSERT_EQ(c.ask(q).status, 0);
    e.op = PROTOCOL_ACCEPT;
    e.u.connect.service = 7000;
    c.submit(0, e);
    e = {};
    e.op = PROTOCOL_RECV;
    for (uint32_t i = 1; i < 16; i++) {
        e.user = i;
        c.submit(0, e);
    }
    ASSERT_TRUE(
        eventually([&] { return __atomic_load_n(&c.ring(0)->sq_head, __ATOMIC_ACQUIRE) == 16; }));
    e.op = PROTOCOL_SHUTDOWN;
    e.user = 16;
    c.submit(0, e);
    usleep(20000);
    EXPECT_EQ(c.ring(0)->sq_head, 16u) << "its completion has no place";
    EXPECT_EQ(c.ring(0)->cq_tail, 0u);
    ASSERT_EQ(sluice_connect(s, "10.0.0.2", 0, 1, &peer), 0);
    EXPECT_TRUE(eventually([&] { return c.take(0, &d); }));
    EXPECT_EQ(d.op, PROTOCOL_ACCEPT);
    ASSERT_TRUE(
        eventually([&] { return __atomic_load_n(&c.ring(0)->sq_head, __ATOMIC_ACQUIRE) == 17; }));
    sluice_close(s);
}

TEST_F(SessionTest, FloodOfNonsenseEndsTheSession)
{
    struct protocol_submission e = {};
    struct protocol_completion d;
    struct protocol_reply a = {};

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    e.op = 200;
    uint32_t sent = 0;
    while (!c.receive(&a, 0) && sent < 100000) {
        if (c.ring(0)->sq_tail - __atomic_load_n(&c.ring(0)->sq_head, __ATOMIC_ACQUIRE) < 64) {
            c.submit(0, e);
            sent++;
        }
        c.take(0, &d);
    }
    EXPECT_EQ(a.type, PROTOCOL_BYE);
    EXPECT_NE(strstr(a.text, "too many invalid submissions"), nullptr) << a.text;
}

/* The client sleeps on a descriptor that it cannot write, so it cannot make a worker block. */
TEST_F(SessionTest, WakeDescriptorCannotBeFilled)
{
    uint64_t most = 0xfffffffffffffffeull;

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    EXPECT_LT(write(c.wake_fd, &most, sizeof most), 0);
    EXPECT_LT(read(c.wake_fd, &most, sizeof most), 0);
}

TEST_F(SessionTest, WrongMessagesAreAnsweredOrThrownOut)
{
    struct protocol_request q = {};
    struct protocol_reply a;

    start();
    {
        RawClient c;
        ASSERT_TRUE(c.connect(path));
        q.magic = PROTOCOL_MAGIC;
        q.version = 99;
        q.type = PROTOCOL_HELLO;
        ASSERT_TRUE(c.send(&q, sizeof q));
        a = bye(c);
        EXPECT_EQ(a.status, -EPROTO);
        std::string versions = "version " + std::to_string(PROTOCOL_VERSION) + ", the client 99";
        EXPECT_NE(strstr(a.text, versions.c_str()), nullptr) << a.text;
    }
    for (size_t len : {1ul, 63ul, 65ul, 4000ul}) {
        RawClient c;
        char junk[4000] = {};
        ASSERT_TRUE(c.connect(path));
        ASSERT_TRUE(c.send(junk, len));
        EXPECT_EQ(bye(c).status, -EPROTO);
    }
    RawClient c;
    ASSERT_TRUE(c.connect(path));
    EXPECT_EQ(c.ask(PROTOCOL_LISTEN).type, PROTOCOL_BYE) << "HELLO must come first";
    RawClient d;
    ASSERT_TRUE(d.connect(path));
    ASSERT_EQ(d.ask(PROTOCOL_HELLO).status, 0);
    EXPECT_EQ(d.ask(PROTOCOL_LISTEN).status, -EINVAL);
    int fd = raw_memfd(4096, MFD_ALLOW_SEALING);
    EXPECT_EQ(d.region(fd, 4096).status, -EINVAL);
    q = {};
    q.type = PROTOCOL_SESSION;
    for (const struct protocol_session &p :
         {protocol_session{3, 64, 64, 128, 4096}, protocol_session{2, 65, 64, 128, 4096},
          protocol_session{2, 64, 0, 128, 4096}, protocol_session{2, 64, 1u << 31, 128, 4096},
          protocol_session{2, 64, 64, 0, 4096}, protocol_session{2, 64, 64, 129, 4096},
          protocol_session{2, 64, 64, 128, 4096}}) {
        q.u.session = p;
        a = d.ask(q, fd);
        EXPECT_EQ(a.status, -EINVAL) << a.text;
    }
    close(fd);
    EXPECT_EQ(d.ask(77).type, PROTOCOL_BYE);
}

TEST_F(SessionTest, SessionsAreLimited)
{
    std::vector<struct sluice *> all;
    struct sluice *s;
    char err[300] = "";

    start();
    long before = descriptors();
    for (uint32_t i = 0; i < config.max_sessions; i++)
        all.push_back(open());
    EXPECT_NE(sluice_open(&s, path.c_str(), err, sizeof err), 0);
    EXPECT_NE(strstr(err, "raise sessions"), nullptr) << err;
    for (auto *one : all)
        sluice_close(one);
    EXPECT_TRUE(eventually([&] { return descriptors() == before; }));
    sluice_close(open());
}
