// SPDX-License-Identifier: BSD-3-Clause
// Copies of frames: what the worker writes, and what a client finds (worker/capture.h).
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "unit/base/seed.h"

extern "C" {
#include "base/rng.h"
#include "common/clock.h"
#include "sluiced/worker/capture.h"
}

namespace
{

constexpr uint64_t kRing = CAPTURE_RING_MIN;
constexpr uint8_t kGuard = 0xa5;
constexpr uint64_t kAhead = 1700000000000000000u;

// A frame of one mbuf for each part.
class Frame
{
  public:
    explicit Frame(const std::vector<std::string> &parts) : bytes(parts), mbufs(parts.size())
    {
        std::memset(mbufs.data(), 0, mbufs.size() * sizeof mbufs[0]);
        for (size_t i = 0; i < parts.size(); i++) {
            mbufs[i].buf_addr = bytes[i].data();
            mbufs[i].data_len = static_cast<uint16_t>(parts[i].size());
            mbufs[i].next = i + 1 < parts.size() ? &mbufs[i + 1] : nullptr;
            mbufs[0].pkt_len += mbufs[i].data_len;
        }
    }
    rte_mbuf *first()
    {
        return mbufs.data();
    }
    std::vector<std::string> bytes;
    std::vector<rte_mbuf> mbufs;
};

struct Taken {
    capture_block head;
    std::string data;
    uint32_t flags, queue;
    uint64_t missing;
};

class Capture : public testing::Test
{
  protected:
    void SetUp() override
    {
        clock.clock.hz = 1000000000;
        clock.ahead_ns = kAhead;
        queue.clock = &clock;
        queue.interface = 3;
        queue.queue = 2;
        queue.snap_bytes = CAPTURE_SNAP_MAX;
        make(kRing);
    }
    void make(uint64_t bytes)
    {
        ring_bytes = bytes;
        memory.assign(bytes + 2 * 4096, kGuard);
        capture_queue_init(&queue, memory.data() + 4096, bytes);
        capture_reader_init(&reader, memory.data() + 4096, bytes);
        capture_add(&list, &queue);
    }
    void receive(Frame &f, uint64_t now = 0)
    {
        rte_mbuf *m = f.first();

        capture_rx(capture_first(&list), &m, 1, now);
    }
    // The next frame; checks that its block is whole.
    bool take(Taken *out)
    {
        capture_reader_look(&reader);
        const capture_block *b = capture_reader_next(&reader);
        if (b == nullptr)
            return false;
        const uint8_t *at = reinterpret_cast<const uint8_t *>(b), *end = at + b->len_bytes;
        uint32_t last;

        EXPECT_EQ(b->type, CAPTURE_PACKET);
        EXPECT_LE(end, memory.data() + 4096 + ring_bytes);
        std::memcpy(&last, end - 4, 4);
        EXPECT_EQ(last, b->len_bytes);
        out->head = *b;
        at += sizeof *b;
        out->data.assign(reinterpret_cast<const char *>(at), b->captured_bytes);
        at += (b->captured_bytes + 3) / 4 * 4;
        options(at, end, out);
        capture_reader_take(&reader);
        capture_reader_give(&reader);
        return true;
    }
    static void options(const uint8_t *at, const uint8_t *end, Taken *out)
    {
        uint16_t head[2];

        out->missing = out->flags = 0;
        for (;; at += 4 + head[1]) {
            ASSERT_LE(at + 8, end);
            std::memcpy(head, at, sizeof head);
            if (head[0] == 0)
                break;
            if (head[0] == 2)
                std::memcpy(&out->flags, at + 4, 4);
            else if (head[0] == 6)
                std::memcpy(&out->queue, at + 4, 4);
            else if (head[0] == 4)
                std::memcpy(&out->missing, at + 4, 8);
        }
        EXPECT_EQ(at + 8, end);
    }
    void guarded() const
    {
        for (size_t i = 0; i < 4096; i++) {
            ASSERT_EQ(memory[i], kGuard) << i;
            ASSERT_EQ(memory[memory.size() - 1 - i], kGuard) << i;
        }
    }

    capture_clock clock = {};
    capture_queue queue = {};
    capture_queue *list = nullptr;
    capture_reader reader = {};
    std::vector<uint8_t> memory;
    uint64_t ring_bytes = 0;
};

std::string text(struct rng *rng, size_t len)
{
    std::string s(len, 0);

    for (char &c : s)
        c = static_cast<char>(rng_below(rng, 256));
    return s;
}

} // namespace

TEST_F(Capture, AFrameWithAllThatIsKnownOfIt)
{
    Frame whole({"abcde", "", "fghijklm"});
    Taken t;

    receive(whole, 7000000001);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.data, "abcdefghijklm");
    EXPECT_EQ(t.head.interface, 3u);
    EXPECT_EQ(t.head.frame_bytes, 13u);
    EXPECT_EQ(capture_block_time_ns(&t.head), kAhead + 7000000001);
    EXPECT_EQ(t.flags, 1u) << "in";
    EXPECT_EQ(t.queue, 2u);
    EXPECT_EQ(t.missing, 0u);
    EXPECT_FALSE(take(&t));
}

TEST_F(Capture, KeepsTheBeginningOfALongFrame)
{
    Frame whole({"abcde", "fghijklm"});
    Taken t;

    queue.snap_bytes = 7;
    receive(whole);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.data, "abcdefg");
    EXPECT_EQ(t.head.frame_bytes, 13u);
}

// A frame that the port refuses is offered again, perhaps with other contents.
TEST_F(Capture, SentFramesOnly)
{
    Frame a({"first"}), b({"second"});
    rte_mbuf *both[] = {a.first(), b.first()};
    Taken t;

    capture_tx(list, both, 2, 100);
    capture_tx_done(list, 0);
    EXPECT_FALSE(take(&t)) << "the port took none";
    capture_tx(list, both, 2, 200);
    EXPECT_FALSE(take(&t)) << "the port has not answered";
    capture_tx_done(list, 1);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.data, "first");
    EXPECT_EQ(t.flags, 2u) << "out";
    EXPECT_FALSE(take(&t));
    b.bytes[0] = "SECOND";
    b.mbufs[0].buf_addr = b.bytes[0].data();
    capture_tx(list, both + 1, 1, 300);
    capture_tx_done(list, 1);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.data, "SECOND");
    EXPECT_EQ(capture_block_time_ns(&t.head), kAhead + 300);
    EXPECT_FALSE(take(&t));
    EXPECT_EQ(queue.frames, 2u);
}

// A ring that is full drops copies, and says how many are missing before the next; those of frames
// that the port refused do not count.
TEST_F(Capture, CountsWhatHasNoRoom)
{
    Frame big({std::string(65000, 'x')}), small({"y"});
    rte_mbuf *m[] = {big.first(), big.first(), big.first(), big.first(), big.first()};
    uint64_t n = 0;
    Taken t;

    capture_tx(list, m, 5, 0);
    capture_tx_done(list, 0);
    capture_reader_look(&reader);
    EXPECT_EQ(reader.dropped, 0u);
    capture_tx(list, m, 5, 0);
    capture_tx_done(list, 5);
    capture_reader_look(&reader);
    EXPECT_EQ(reader.dropped, 1u) << "four have room";
    while (take(&t))
        n++;
    EXPECT_EQ(n, 4u);
    receive(small);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.missing, 1u);
    receive(small);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.missing, 0u);
    EXPECT_EQ(queue.frames, n + 2 + 1);
}

// Any sizes, any pauses of the reader: what it finds is what came, in order, but for what the
// counter says.
TEST_F(Capture, AgainstAList)
{
    uint64_t seed = test_seed();
    struct rng rng;
    std::deque<std::string> model; // "" at each drop
    uint64_t offered = 0, taken = 0, missing = 0, dropped = 0;

    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    rng_init(&rng, seed);
    for (int step = 0; step < 30000; step++) {
        if (rng_below(&rng, 100) < 60) {
            std::string s =
                text(&rng, rng_below(&rng, 4) == 0 ? rng_below(&rng, 9000) : rng_below(&rng, 64));
            Frame f({s.substr(0, s.size() / 3), s.substr(s.size() / 3)});
            rte_mbuf *m = f.first();
            bool sends = rng_below(&rng, 2) == 0, sent = !sends || rng_below(&rng, 3) > 0;

            if (sends) {
                capture_tx(list, &m, 1, static_cast<uint64_t>(step));
                capture_tx_done(list, sent);
            } else {
                capture_rx(list, &m, 1, static_cast<uint64_t>(step));
            }
            offered += sent;
            capture_reader_look(&reader);
            if (sent && reader.dropped == dropped)
                model.push_back(s);
            dropped = reader.dropped;
        }
        Taken t;
        uint64_t takes = rng_below(&rng, 300) == 0 ? 2000 : 0;

        while (takes-- > 0 && take(&t)) {
            ASSERT_FALSE(model.empty());
            ASSERT_EQ(t.data, model.front());
            model.pop_front();
            taken++;
            missing += t.missing;
        }
    }
    EXPECT_EQ(taken + model.size() + dropped, offered);
    EXPECT_LE(missing, dropped);
    EXPECT_GT(dropped, 100u);
    EXPECT_GT(taken, 5000u);
    guarded();
}

// Whatever a client writes to head, the worker writes within the ring, and never stops.
TEST_F(Capture, AHostileIndexHarmsNobody)
{
    uint64_t seed = test_seed();
    struct rng rng;

    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    rng_init(&rng, seed);
    for (int step = 0; step < 20000; step++) {
        uint64_t near = queue.end.tail - rng_below(&rng, 2 * kRing);
        Frame f({text(&rng, rng_below(&rng, 9000))});

        queue.ring->head = rng_below(&rng, 2) == 0 ? near : rng_u64(&rng);
        queue.ring->tail = rng_u64(&rng);
        receive(f);
        ASSERT_LT(queue.end.at_bytes, queue.size_bytes);
    }
    EXPECT_EQ(queue.frames, 20000u);
    guarded();
}

// An index beyond what the worker has written leaves no room, rather than any amount of it.
TEST_F(Capture, AnIndexFromTheFutureLeavesNoRoom)
{
    Frame f({"frame"});

    receive(f);
    queue.ring->head = queue.end.tail + 4;
    receive(f);
    EXPECT_EQ(queue.end.dropped, 1u);
    queue.ring->head = queue.end.tail;
    receive(f);
    EXPECT_EQ(queue.end.dropped, 1u);
}

TEST_F(Capture, SeveralAtOnceComeAndGo)
{
    auto second = std::make_unique<capture_queue>();
    std::vector<uint8_t> other(kRing);
    capture_reader others;
    Frame f({"frame"});
    Taken t;

    second->clock = &clock;
    second->snap_bytes = 2;
    capture_queue_init(second.get(), other.data(), kRing);
    capture_reader_init(&others, other.data(), kRing);
    capture_add(&list, second.get());
    receive(f);
    capture_reader_look(&others);
    const capture_block *b = capture_reader_next(&others);
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->captured_bytes, 2u);
    ASSERT_TRUE(take(&t));
    EXPECT_EQ(t.data, "frame");
    capture_remove(&list, &queue);
    receive(f);
    EXPECT_FALSE(take(&t));
    capture_remove(&list, second.get());
    EXPECT_EQ(capture_first(&list), nullptr);
}

// The worker copies while the client takes, and while control adds and removes another capture.
TEST_F(Capture, ThreadsShareARing)
{
    constexpr uint32_t kFrames = 200000;
    std::atomic<bool> over{false};
    std::atomic<uint32_t> passed{0}; // frames, as iterations of a worker
    uint32_t expected = 0, taken = 0;

    std::thread worker([&] {
        for (uint32_t i = 0; i < kFrames; i++) {
            Frame f({std::string(reinterpret_cast<const char *>(&i), sizeof i)});
            rte_mbuf *m = f.first();

            capture_queue *first = capture_first(&list);

            capture_tx(first, &m, 1, i);
            capture_tx_done(first, 1);
            passed = i + 1;
        }
        over = true;
    });
    std::thread control([&] {
        while (!over) {
            auto second = std::make_unique<capture_queue>();
            std::vector<uint8_t> other(kRing);

            second->clock = &clock;
            second->snap_bytes = 2;
            capture_queue_init(second.get(), other.data(), kRing);
            capture_add(&list, second.get());
            capture_clock_set(&clock);
            capture_remove(&list, second.get());
            for (uint32_t before = passed; !over && passed < before + 2;)
                std::this_thread::yield();
        }
    });
    for (bool last = false; !last || expected < kFrames;) {
        Taken t;
        uint32_t number;

        last = over;
        if (!take(&t)) {
            if (last)
                break;
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(t.data.size(), sizeof number);
        std::memcpy(&number, t.data.data(), sizeof number);
        EXPECT_EQ(number, expected + t.missing);
        expected = number + 1;
        taken++;
    }
    worker.join();
    control.join();
    EXPECT_EQ(taken + queue.end.dropped, kFrames);
    guarded();
}

TEST_F(Capture, TimesAreTimesOfDay)
{
    timespec t;

    clock.clock.hz = clock_measure_hz();
    capture_clock_set(&clock);
    clock_gettime(CLOCK_REALTIME, &t);
    double now = static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
    double made = static_cast<double>(clock_ns(&clock.clock, clock_now()) + clock.ahead_ns) / 1e9;
    EXPECT_NEAR(made, now, 0.5) << "a busy machine may pause here";
}
