/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of programs that are older than the library, which know fewer fields, and of newer ones.
 */
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "unit/client/fixture.h"

namespace
{
constexpr uint8_t untouched = 0xa5;

/* What programs of other versions declare. */
struct OldStats {
    uint64_t tx_rate_Bps, tx_burst_bytes;
};
struct NewStats {
    struct sluice_stats known;
    uint64_t more[5];
};
struct OldCompletion {
    uint64_t user, len;
};
struct NewCompletion {
    struct sluice_completion known;
    uint64_t more[2];
};

/* n structs and one more, which the library must leave alone. */
template <typename T> struct Guarded {
    explicit Guarded(size_t n) : all((n + 1) * sizeof(T), untouched), n(n)
    {
    }
    T operator[](size_t i) const
    {
        T one;

        memcpy(&one, all.data() + i * sizeof(T), sizeof one);
        return one;
    }
    bool whole() const
    {
        return std::all_of(all.begin() + static_cast<ptrdiff_t>(n * sizeof(T)), all.end(),
                           [](uint8_t byte) { return byte == untouched; });
    }
    std::vector<uint8_t> all;
    size_t n;
};
} // namespace

class SizedTest : public DaemonTest
{
  protected:
    void SetUp() override
    {
        DaemonTest::SetUp();
        start();
        s = open();
        pair(s, c);
    }
    void TearDown() override
    {
        sluice_close(s);
        DaemonTest::TearDown();
    }

    /* Sends two requests, of 100 and 200 bytes, and takes their completions as T: those of the
     * receives have the users 1 and 2. */
    template <typename T> Guarded<T> completions()
    {
        uint8_t *m = static_cast<uint8_t *>(sluice_alloc(s, 4096));
        Guarded<T> done(4);
        uint32_t taken = 0;

        for (uint64_t i = 1; i <= 2; i++) {
            EXPECT_EQ(sluice_recv(c[1], m, 1024, i), 0);
            EXPECT_EQ(sluice_send(c[0], m + 2048, 100 * i, 10 + i), 0);
        }
        while (taken < 4) {
            auto *out =
                reinterpret_cast<struct sluice_completion *>(done.all.data() + taken * sizeof(T));
            int n = sluice_poll_sized(s, out, sizeof(T), 4 - taken, 10000);

            EXPECT_GT(n, 0) << sluice_error(s);
            if (n <= 0)
                break;
            taken += static_cast<uint32_t>(n);
        }
        return done;
    }

    struct sluice *s = nullptr;
    struct sluice_conn *c[2] = {};
};

TEST_F(SizedTest, StatsOfAnOlderProgram)
{
    Guarded<OldStats> old(1);

    sluice_conn_stats_sized(c[0], reinterpret_cast<struct sluice_stats *>(old.all.data()),
                            sizeof(OldStats));
    EXPECT_EQ(old[0].tx_rate_Bps, 100000000u);
    EXPECT_NE(old[0].tx_burst_bytes, 0xa5a5a5a5a5a5a5a5u);
    EXPECT_TRUE(old.whole());
}

TEST_F(SizedTest, StatsOfANewerProgram)
{
    Guarded<NewStats> stats(1);

    sluice_conn_stats_sized(c[0], reinterpret_cast<struct sluice_stats *>(stats.all.data()),
                            sizeof(NewStats));
    EXPECT_EQ(stats[0].known.tx_rate_Bps, 100000000u);
    EXPECT_NE(strstr(stats[0].known.peer, ":47800"), nullptr) << stats[0].known.peer;
    for (uint64_t unknown : stats[0].more)
        EXPECT_EQ(unknown, 0u);
    EXPECT_TRUE(stats.whole());
}

TEST_F(SizedTest, CompletionsOfAnOlderProgram)
{
    Guarded<OldCompletion> done = completions<OldCompletion>();
    uint64_t sum = 0;

    for (size_t i = 0; i < 4; i++) {
        EXPECT_EQ(done[i].len, 100 * (done[i].user % 10)) << "of user " << done[i].user;
        sum += done[i].user;
    }
    EXPECT_EQ(sum, 1u + 2 + 11 + 12);
    EXPECT_TRUE(done.whole());
}

TEST_F(SizedTest, CompletionsOfANewerProgram)
{
    Guarded<NewCompletion> done = completions<NewCompletion>();
    uint64_t sum = 0;

    for (size_t i = 0; i < 4; i++) {
        const struct sluice_completion known = done[i].known;

        EXPECT_EQ(known.len, 100 * (known.user % 10)) << "of user " << known.user;
        EXPECT_EQ(known.status, 0);
        EXPECT_EQ(known.conn, known.op == SLUICE_OP_SEND ? c[0] : c[1]);
        EXPECT_EQ(done[i].more[0] | done[i].more[1], 0u);
        sum += known.user;
    }
    EXPECT_EQ(sum, 1u + 2 + 11 + 12);
    EXPECT_TRUE(done.whole());
}

/* Otherwise a program would lose what has completed. */
TEST_F(SizedTest, CompletionsHaveASize)
{
    struct sluice_completion d = {};

    ASSERT_EQ(sluice_shutdown(c[0], 7), 0);
    EXPECT_EQ(sluice_poll_sized(s, &d, 0, 1, 10000), -EINVAL);
    EXPECT_NE(strstr(sluice_error(s), "sizeof(struct sluice_completion)"), nullptr);
    EXPECT_EQ(sluice_poll(s, &d, 1, 10000), 1);
    EXPECT_EQ(d.user, 7u);
}
