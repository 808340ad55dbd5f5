/* SPDX-License-Identifier: BSD-3-Clause */
/* Hostile clients beside an honest one. Its transfer stays right, and the hostile ones leave
 * nothing. */
#include <cerrno>
#include <thread>

extern "C" {
#include "base/rng.h"
}
#include "unit/client/attack.h"
#include "unit/client/fixture.h"

class HostileTest : public DaemonTest
{
  protected:
    static bool enough(const struct AttackCount &c)
    {
        return c.sessions > 3 && c.submissions > 1000 && c.completions > 500;
    }
};

TEST_F(HostileTest, HonestTransferStaysRight)
{
    const char *text = getenv("SLUICE_HOSTILE_SECONDS");
    const double seconds = text != nullptr ? atof(text) : 5;
    const uint64_t len = 20000;
    struct AttackCount count[2];
    bool alive[2] = {false, false};
    uint64_t requests = 0;
    bool over = false;
    struct sluice_conn *c[2];

    config.quota_bytes = 64 << 20;
    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 2 * len));
    pair(s, c);
    /* Repeats on a busy processor, so that enough attacks were made. */
    auto run = [&](int i) {
        for (uint64_t round = 0; round < 10 && !enough(count[i]); round++)
            alive[i] =
                attack(path, seconds, seed + 2 * round + static_cast<uint64_t>(i), &count[i]);
    };
    std::thread bad([&] {
        std::thread second(run, 1);
        run(0);
        second.join();
        __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    });
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        for (uint64_t i = 0; i < len; i++)
            m[i] = static_cast<uint8_t>(i + requests);
        memset(m + len, 0, len);
        if (sluice_recv(c[1], m + len, len, 1) != 0 || sluice_send_sync(c[0], m, len) != 0 ||
            take(s, 1)[0].status != 0 || memcmp(m, m + len, len) != 0)
            break;
        EXPECT_LE(fake_daemon_mapped_bytes(daemon), 64u << 20);
        requests++;
    }
    EXPECT_TRUE(__atomic_load_n(&over, __ATOMIC_ACQUIRE)) << "request " << requests << " is wrong";
    bad.join();
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(alive[i]);
        EXPECT_TRUE(enough(count[i]));
    }
    printf("%lu honest requests; hostile: %lu sessions, %lu thrown out, %lu submissions, %lu "
           "completions, %lu messages\n",
           requests, count[0].sessions + count[1].sessions,
           count[0].thrown_out + count[1].thrown_out, count[0].submissions + count[1].submissions,
           count[0].completions + count[1].completions, count[0].messages + count[1].messages);
    EXPECT_GT(requests, 20u);
    sluice_close(s);
    EXPECT_TRUE(eventually(
        [&] { return conns() == 0 && services() == 0 && fake_daemon_mapped_bytes(daemon) == 0; }));
}
