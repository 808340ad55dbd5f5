/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures, as sessions see them: who may, into which memory, and that they end before it goes. */
#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

#include <sys/wait.h>

extern "C" {
#include "client/capture.h"
}

using CaptureTest = DaemonTest;

namespace
{

constexpr uint64_t kBytes = 4u << 20;

struct client_capture of_port(uint32_t port, void *memory)
{
    struct client_capture c = {};

    c.port = port;
    c.interface = 5;
    c.snap_bytes = 100;
    c.memory = memory;
    return c;
}

} // namespace

TEST_F(CaptureTest, BeginsWithItsOwnMemoryAndEndsWithTheSession)
{
    start();
    struct sluice *s = open();
    void *memory = sluice_alloc(s, kBytes), *other = sluice_alloc(s, kBytes);
    struct client_capture c = of_port(1, memory), again = of_port(0, memory);

    ASSERT_NE(other, nullptr);
    ASSERT_EQ(client_capture_begin(s, &c), 0) << sluice_error(s);
    EXPECT_EQ(c.rings, 2u);
    EXPECT_EQ(c.ring_bytes, kBytes / 2);
    EXPECT_TRUE(eventually([&] { return *static_cast<volatile uint8_t *>(memory) == 105; }))
        << "the daemon writes what was asked for";
    EXPECT_EQ(client_capture_begin(s, &again), -EBUSY) << "one capture has one memory";
    EXPECT_EQ(sluice_free(s, memory), -EBUSY);
    EXPECT_EQ(sluice_free(s, other), 0) << sluice_error(s);
    EXPECT_EQ(fake_daemon_captures(daemon), 1u);
    sluice_close(s);
    EXPECT_TRUE(eventually([&] { return fake_daemon_captures(daemon) == 0; }));
}

TEST_F(CaptureTest, RefusesWhatMakesNoSense)
{
    start();
    struct sluice *s = open();
    uint8_t *memory = static_cast<uint8_t *>(sluice_alloc(s, kBytes));
    struct client_capture c = of_port(9, memory);

    EXPECT_EQ(client_capture_begin(s, &c), -ENODEV);
    EXPECT_STREQ(sluice_error(s), "no port 9");
    c = of_port(0, memory + 4096);
    EXPECT_EQ(client_capture_begin(s, &c), -EINVAL) << "not the whole memory";
    c = of_port(0, memory);
    for (uint32_t snap : {0u, CAPTURE_SNAP_MAX + 1, UINT32_MAX}) {
        c.snap_bytes = snap;
        EXPECT_EQ(client_capture_begin(s, &c), -EINVAL) << snap;
    }
    sluice_close(s);

    RawClient raw;
    struct protocol_request q = {};
    ASSERT_TRUE(raw.open(path));
    q.type = PROTOCOL_CAPTURE;
    q.u.capture.snap_bytes = 100;
    for (uint32_t region :
         {0u, 1u, PROTOCOL_REGIONS_MAX - 1u, PROTOCOL_REGIONS_MAX + 0u, UINT32_MAX}) {
        q.u.capture.region_id = region;
        EXPECT_EQ(raw.ask(q).status, -EINVAL) << region;
    }
    EXPECT_EQ(fake_daemon_captures(daemon), 0u);
}

/* A daemon that is broken, or has fewer rights than this process. */
TEST_F(CaptureTest, BelievesNoRingsThatMakeNoSense)
{
    start();
    struct sluice *s = open();

    constexpr uint32_t kMin = CAPTURE_RING_MIN / FAKE_CAPTURE_UNIT;
    constexpr uint32_t kLine = PROTOCOL_LINE / FAKE_CAPTURE_UNIT;
    constexpr uint32_t kMost = PROTOCOL_CHANNELS_MAX;
    const struct {
        const char *what;
        uint32_t rings, units; /* units: FAKE_CAPTURE_UNITs of each ring */
        int status;
    } answers[] = {{"as short as may be", 2, kMin, 0},
                   {"all of the memory", kMost, kMin / 8 * 9, 0},
                   {"no rings", 0, kMin, -EPROTO},
                   {"no whole lines", 2, kMin + kLine - 1, -EPROTO},
                   {"too short", 2, kMin - kLine, -EPROTO},
                   {"longer than the memory", kMost, kMin / 8 * 9 + kLine, -EPROTO},
                   {"more rings than a port can have", kMost + 1, kMin, -EPROTO},
                   {"far more", UINT32_MAX - FAKE_CAPTURE_RINGS, kMin, -EPROTO}};

    for (const auto &a : answers) {
        /* It holds more rings than a port can have. These are whole hugepages, so the library
         * allocates no more. */
        struct client_capture c = of_port(0, sluice_alloc(s, kMost / 8 * 9 * CAPTURE_RING_MIN));

        c.interface = FAKE_CAPTURE_RINGS + a.rings;
        c.snap_bytes = a.units;
        EXPECT_EQ(client_capture_begin(s, &c), a.status) << a.what;
        EXPECT_EQ(c.rings, a.status == 0 ? a.rings : 0u) << a.what;
    }
    sluice_close(s);
}

/* At most 16 in a session; each goes with it, also if the client only vanishes. */
TEST_F(CaptureTest, EndsWhenTheClientVanishes)
{
    start();
    struct sluice *s = open();

    for (uint32_t i = 0; i <= 16; i++) {
        void *memory = sluice_alloc(s, 2 * CAPTURE_RING_MIN);
        struct client_capture c = of_port(0, memory);

        EXPECT_EQ(client_capture_begin(s, &c), i < 16 ? 0 : -EBUSY) << sluice_error(s);
    }
    EXPECT_EQ(fake_daemon_captures(daemon), 16u);
    sluice_close(s);
    pid_t child = fork();
    if (child == 0) {
        struct sluice *mine = open();
        struct client_capture c = of_port(0, sluice_alloc(mine, kBytes));

        _exit(client_capture_begin(mine, &c) == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(eventually([&] { return fake_daemon_captures(daemon) == 0; }));
}

/* A user that may use the daemon, but neither root nor its own. */
TEST_F(CaptureTest, IsNotForTheUsersOfTheSocket)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    start();
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(54331, 54331, 54331) != 0)
            _exit(3);
        struct sluice *s = open();
        struct client_capture c = of_port(0, sluice_alloc(s, kBytes));
        int refused = client_capture_begin(s, &c);

        _exit(refused == -EPERM && strstr(sluice_error(s), "only root") != nullptr ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(fake_daemon_captures(daemon), 0u);
}
