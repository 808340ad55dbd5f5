/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared-memory protocol alone, without DPDK, so that it runs under ThreadSanitizer. A worker
 * that publishes and a client that goes to sleep lose no wake-up. A status entry is never torn.
 */
#include <gtest/gtest.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "client/protocol.h"

static const uint32_t entries = 16;

struct Shared {
    struct protocol_channel channel = {};
    uint64_t cq[entries] = {};
    struct protocol_status status = {};
};

/* Random delays, of the length at which the two sides could miss each other. */
static void dawdle(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    for (volatile uint32_t i = *state >> 26; i > 0;)
        i = i - 1;
}

/*
 * Each entry is published after the last one was taken, so nothing else can wake the client: if one
 * wake-up is lost, the client sleeps for ever.
 */
TEST(Wake, NoneIsLost)
{
    const uint32_t rounds = 300000;
    Shared s;
    int event = eventfd(0, EFD_NONBLOCK), wake = epoll_create1(0);
    struct epoll_event e = {};
    uint32_t head = 0, random = 1, slept = 0;
    bool late = false;

    e.events = EPOLLIN | EPOLLET;
    ASSERT_EQ(epoll_ctl(wake, EPOLL_CTL_ADD, event, &e), 0);
    std::thread worker([&] {
        uint64_t one = 1;
        uint32_t tail = 0, mine = 2;

        while (tail < rounds) {
            if (__atomic_load_n(&s.channel.cq_head, __ATOMIC_ACQUIRE) != tail)
                continue;
            dawdle(&mine);
            s.cq[tail % entries] = tail;
            if (protocol_publish(&s.channel, ++tail))
                (void)!write(event, &one, sizeof one);
        }
    });
    while (head < rounds) {
        if (__atomic_load_n(&s.channel.cq_tail, __ATOMIC_ACQUIRE) != head) {
            EXPECT_EQ(s.cq[head % entries], head);
            __atomic_store_n(&s.channel.cq_head, ++head, __ATOMIC_RELEASE);
            continue;
        }
        dawdle(&random);
        if (!late && protocol_arm(&s.channel, head)) {
            slept++;
            late = epoll_wait(wake, &e, 1, 3000) == 0;
            EXPECT_FALSE(late) << "asleep for 3 s, entry " << head << " of " << rounds;
        }
    }
    worker.join();
    EXPECT_GT(slept, rounds / 100) << "it hardly slept, so the test shows nothing";
    close(event);
    close(wake);
}

/* Both sides decide at the same time, over many channels, many times. Returns how often one side
 * went to sleep and the other side did not wake it. */
template <typename Reset, typename Sleep, typename Wake>
static uint32_t meet(Reset reset, Sleep sleep, Wake wake)
{
    const uint32_t channels = 64, rounds = 20000;
    std::vector<struct protocol_channel> c(channels);
    std::vector<char> sleeps(channels), wakes(channels);
    uint32_t go = 0, done = 0, missed = 0;

    std::thread other([&] {
        for (uint32_t r = 1; r <= rounds; r++) {
            while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) != r)
                ;
            for (uint32_t i = 0; i < channels; i++)
                wakes[i] = wake(&c[i]);
            __atomic_store_n(&done, r, __ATOMIC_RELEASE);
        }
    });
    for (uint32_t r = 1; r <= rounds; r++) {
        for (auto &one : c)
            reset(&one);
        __atomic_store_n(&go, r, __ATOMIC_RELEASE);
        /* In the opposite order, so that the two sides meet somewhere. */
        for (uint32_t i = channels; i-- > 0;)
            sleeps[i] = sleep(&c[i]);
        while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != r)
            ;
        for (uint32_t i = 0; i < channels; i++)
            missed += sleeps[i] && !wakes[i];
    }
    other.join();
    return missed;
}

TEST(Wake, ArmOrPublishSeesTheOther)
{
    EXPECT_EQ(meet([](struct protocol_channel *c) { c->cq_tail = c->wake = 0; },
                   [](struct protocol_channel *c) { return protocol_arm(c, 0); },
                   [](struct protocol_channel *c) { return protocol_publish(c, 1); }),
              0u);
}

TEST(Wake, SleepOrSubmitSeesTheOther)
{
    EXPECT_EQ(meet([](struct protocol_channel *c) { c->sq_tail = c->asleep = 0; },
                   [](struct protocol_channel *c) { return protocol_sleep(c, 0); },
                   [](struct protocol_channel *c) { return protocol_submit(c, 1); }),
              0u);
}

TEST(Wake, StatusIsNeverTorn)
{
    const uint64_t rounds = 100000;
    Shared s;
    uint64_t w[PROTOCOL_WORDS], whole = 0, newest = 0;
    bool over = false;

    std::thread worker([&] {
        uint64_t words[PROTOCOL_WORDS], seq = 0;

        for (uint64_t n = 1; n <= rounds; n++) {
            for (auto &word : words)
                word = n;
            protocol_status_write(&s.status, &seq, words);
            if (n % 64 == 0)
                std::this_thread::yield();
        }
        __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    });
    for (bool last = false; !last;) {
        last = __atomic_load_n(&over, __ATOMIC_ACQUIRE);
        if (!protocol_status_read(&s.status, w))
            continue;
        for (uint64_t word : w)
            ASSERT_EQ(word, w[0]);
        ASSERT_GE(w[0], newest);
        newest = w[0];
        whole++;
    }
    worker.join();
    EXPECT_EQ(newest, rounds);
    EXPECT_GT(whole, 10u);
}
