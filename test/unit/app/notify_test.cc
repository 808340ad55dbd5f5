// SPDX-License-Identifier: BSD-3-Clause
// Notifications, as a service manager receives them: on a path, and on an abstract socket.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern "C" {
#include "sluiced/control/notify.h"
}

namespace
{

class Notify : public testing::Test
{
  protected:
    void TearDown() override
    {
        unsetenv("NOTIFY_SOCKET");
        if (fd >= 0)
            close(fd);
        if (path[0] == '/')
            unlink(path.c_str());
    }

    // Listens, as `name` says in NOTIFY_SOCKET.
    void listen_at(const std::string &name)
    {
        struct sockaddr_un sun = {};

        path = name;
        sun.sun_family = AF_UNIX;
        memcpy(sun.sun_path, name.data(), name.size());
        if (name[0] == '@')
            sun.sun_path[0] = 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        ASSERT_EQ(bind(fd, (const struct sockaddr *)&sun,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name.size())),
                  0)
            << strerror(errno);
        setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }

    // The next datagram; "": there is none.
    std::string heard() const
    {
        char text[4096];
        ssize_t n = recv(fd, text, sizeof text, 0);

        return std::string(text, n > 0 ? (size_t)n : 0);
    }

    void hear_all() const
    {
        notify_ready();
        EXPECT_EQ(heard(), "READY=1\n");
        notify_reloading(12345678999);
        EXPECT_EQ(heard(), "RELOADING=1\nMONOTONIC_USEC=12345678\n");
        notify_status("1 of 1 port up");
        EXPECT_EQ(heard(), "STATUS=1 of 1 port up\n");
        notify_alive();
        EXPECT_EQ(heard(), "WATCHDOG=1\n");
        notify_stopping();
        EXPECT_EQ(heard(), "STOPPING=1\n");
        EXPECT_EQ(heard(), "");
    }

    std::string path = "@";
    int fd = -1;
};

TEST_F(Notify, ByPath)
{
    listen_at("/tmp/sluice-notify-" + std::to_string(getpid()));
    hear_all();
}

TEST_F(Notify, ByAbstractName)
{
    listen_at("@sluice-notify-" + std::to_string(getpid()));
    hear_all();
}

// sun_path need not end with a 0 byte.
TEST_F(Notify, LongestName)
{
    std::string name = "@sluice-notify-" + std::to_string(getpid());

    name.resize(sizeof(sockaddr_un::sun_path) - 1, 'n');
    listen_at(name);
    hear_all();
}

TEST_F(Notify, LongStatusIsOneLineStill)
{
    listen_at("@sluice-notify-" + std::to_string(getpid()));
    notify_status(std::string(3 * NOTIFY_STATUS_MAX, 's').c_str());
    EXPECT_EQ(heard(), "STATUS=" + std::string(NOTIFY_STATUS_MAX - 1, 's') + "\n");
}

// Nobody listens, or the name is none: nothing is sent, and nothing waits.
TEST_F(Notify, WithoutAManager)
{
    notify_ready();
    for (const std::string &name :
         {std::string("/nowhere/notify"), std::string("@sluice-nobody"), std::string(""),
          std::string("@"), std::string("relative"), "/" + std::string(200, 'x')}) {
        setenv("NOTIFY_SOCKET", name.c_str(), 1);
        notify_ready();
        notify_status("x");
    }
    listen_at("@sluice-notify-" + std::to_string(getpid()));
    for (int i = 0; i < 5000; i++) // more than the socket holds
        notify_alive();
    EXPECT_EQ(heard(), "WATCHDOG=1\n");
}

TEST_F(Notify, Interval)
{
    const struct {
        const char *us, *pid;
        uint64_t ns;
    } cases[] = {
        {nullptr, nullptr, 0}, {"3000000", nullptr, 1000000000},
        {"3000000", "1", 0},   {"3 s", nullptr, 0},
        {"", nullptr, 0},      {"99999999999999999999", nullptr, 0},
    };
    for (const auto &c : cases) {
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        if (c.us != nullptr)
            setenv("WATCHDOG_USEC", c.us, 1);
        if (c.pid != nullptr)
            setenv("WATCHDOG_PID", c.pid, 1);
        EXPECT_EQ(notify_interval_ns(), c.ns) << (c.us != nullptr ? c.us : "unset");
    }
    setenv("WATCHDOG_USEC", "3000", 1);
    setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
    EXPECT_EQ(notify_interval_ns(), 1000000u);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

} // namespace
