// SPDX-License-Identifier: BSD-3-Clause
// Descriptors whose close() takes long must not hold up the service of other clients.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "sluiced/session/fd_closer.h"
}

#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

namespace
{

class FdCloserTest : public DaemonTest
{
};

// A TCP socket with unsent data, so that close() lingers.
int lingering(int *keep, int buffer_bytes = 0)
{
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {};
    socklen_t n = sizeof a;
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (buffer_bytes > 0) {
        setsockopt(l, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
        setsockopt(c, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    }
    bind(l, (struct sockaddr *)&a, sizeof a);
    listen(l, 1);
    getsockname(l, (struct sockaddr *)&a, &n);
    connect(c, (struct sockaddr *)&a, sizeof a);
    *keep = l;
    fcntl(c, F_SETFL, O_NONBLOCK);
    std::string junk(65536, 'x');
    while (send(c, junk.data(), junk.size(), MSG_NOSIGNAL) > 0)
        ;
    struct linger x = {1, buffer_bytes > 0 ? 60 : 4};
    setsockopt(c, SOL_SOCKET, SO_LINGER, &x, sizeof x);
    return c;
}
void check(const std::string &path, int extra, bool hello)
{
    RawClient bad, good;
    int keep, fds[4] = {0, 0, 0, 0};
    int c = lingering(&keep);
    struct protocol_request q = {};
    q.magic = PROTOCOL_MAGIC;
    q.version = PROTOCOL_VERSION;
    q.type = hello ? PROTOCOL_HELLO : 999;
    ASSERT_TRUE(good.connect(path));
    ASSERT_TRUE(bad.connect(path));
    fds[extra] = c;
    for (int i = 0; i < extra; i++)
        fds[i] = open("/dev/null", O_RDONLY);
    ASSERT_TRUE(bad.send(&q, sizeof q, fds, extra + 1));
    if (!hello)
        bad.send(&q, sizeof q, fds, extra + 1);
    for (int i = 0; i <= extra; i++)
        close(fds[i]);
    usleep(100000);
    auto t = std::chrono::steady_clock::now();
    good.ask(PROTOCOL_HELLO);
    double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
    EXPECT_LT(s, 0.5) << "the other client waited";
    close(keep);
}

TEST_F(FdCloserTest, OneDescriptor)
{
    start();
    check(path, 0, true);
}

TEST_F(FdCloserTest, FourDescriptors)
{
    start();
    check(path, 3, true);
}

TEST_F(FdCloserTest, UnreadMessage)
{
    start();
    check(path, 0, false);
}

// A message without bytes ends the session. The descriptors that it brings are closed, too: a
// daemon that kept them would soon have room for no others.
TEST_F(FdCloserTest, MessageWithoutBytes)
{
    RawClient bad;
    int ends[2];
    struct pollfd closed = {};

    start();
    ASSERT_TRUE(bad.connect(path));
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_TRUE(bad.send("", 0, &ends[1], 1));
    close(ends[1]);
    closed.fd = ends[0];
    EXPECT_EQ(poll(&closed, 1, 5000), 1) << "the daemon keeps the descriptor";
    EXPECT_EQ(closed.revents, POLLHUP);
    close(ends[0]);
}

// The threads of this process, by number.
std::set<std::string> threads()
{
    std::set<std::string> all;

    for (const auto &t : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(t.path().filename());
    return all;
}

// The number of threads that have begun since. Threads of earlier tests may end meanwhile.
size_t threads_since(const std::set<std::string> &before)
{
    size_t n = 0;

    for (const std::string &t : threads())
        n += before.count(t) == 0;
    return n;
}

// The closer empties a socket of messages with descriptors, whatever its type and its peer's last
// act.
TEST(FdCloser, MessagesOfAPeerThatHasGone)
{
    const int on = 1;

    for (int type : {SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM}) {
        RawClient peer;
        int s[2], keep[3];
        const std::set<std::string> before = threads();

        ASSERT_EQ(socketpair(AF_UNIX, type, 0, s), 0);
        // Each message tells its sender, and so does the end of a stream, again and again.
        ASSERT_EQ(setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
        peer.sock = s[1];
        for (int &k : keep) {
            int fd = lingering(&k, 4096);

            ASSERT_TRUE(peer.send("x", 1, &fd, 1));
            close(fd);
        }
        ASSERT_EQ(send(s[0], "unread", 6, 0), 6);
        peer.hang_up();
        fd_closer_add(s[0], 12345);
        for (int i = 0; i < 3000 && threads_since(before) > 0; i++)
            usleep(10000);
        EXPECT_EQ(threads_since(before), 0) << "a thread waits for a descriptor: type " << type;
        for (int k : keep)
            close(k);
    }
}

// The kernel makes a descriptor of the sender for each message that is received (Linux 6.5).
TEST_F(FdCloserTest, DescriptorsOfTheSender)
{
    constexpr int kPassPidfd = 76; // SO_PASSPIDFD
    const int on = 1;

    for (int type : {SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM}) {
        const std::set<std::string> before = threads();
        const long fds = descriptors();
        int s[2];

        ASSERT_EQ(socketpair(AF_UNIX, type, 0, s), 0);
        if (setsockopt(s[0], SOL_SOCKET, kPassPidfd, &on, sizeof on) < 0) {
            close(s[0]);
            close(s[1]);
            GTEST_SKIP() << "this kernel has no SO_PASSPIDFD";
        }
        for (int i = 0; i < 5; i++)
            ASSERT_EQ(send(s[1], "x", 1, 0), 1);
        fd_closer_add(s[0], 12345);
        for (int i = 0; i < 3000 && threads_since(before) > 0; i++)
            usleep(10000);
        EXPECT_EQ(threads_since(before), 0) << "type " << type;
        close(s[1]);
        EXPECT_EQ(descriptors(), fds) << "type " << type;
    }
}

// Messages carry more slow descriptors than there may be threads for. Their user holds up only
// itself. It is served again once they are closed.
TEST_F(FdCloserTest, HundredsOfDescriptors)
{
    const struct linger none = {};
    std::vector<int> held;

    start();
    for (int i = 0; i < 100; i++) {
        RawClient bad;
        int fds[4], keep;

        ASSERT_TRUE(bad.connect(path));
        for (int &fd : fds) {
            fd = lingering(&keep, 4096);
            held.push_back(keep);
        }
        bool sent = bad.send("x", 1, fds, 4);
        for (int fd : fds) {
            if (!sent) // the message failed, so this test closes the last copy
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
            close(fd);
        }
    }
    int status = -EUSERS; // while the user's own descriptors wait to be closed
    for (int i = 0; i < 100 && status == -EUSERS; i++) {
        RawClient good;

        usleep(i > 0 ? 100000 : 0);
        ASSERT_TRUE(good.connect(path));
        status = good.ask(PROTOCOL_HELLO).status;
    }
    EXPECT_EQ(status, 0) << "the user is never served again";
    for (int fd : held)
        close(fd);
}

} // namespace
