/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared-memory protocol by itself, without DPDK, so that it runs under ThreadSanitizer: a
 * worker that publishes and a client that sleeps lose no wake-up; a status entry is never torn.
 */
#include <gtest/gtest.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "client/protocol.h"

static const uint32_t entries = 16;

struct Shared {
    struct protocol_channel channel = {};
    uint64_t cq[entries] = {};
    struct protocol_status status = {};
};

TEST(Wake, NoneIsLost)
{
    const uint32_t rounds = 100000;
    Shared s;
    int event = eventfd(0, EFD_NONBLOCK), wake = epoll_create1(0), late = 0;
    struct epoll_event e = {};

    e.events = EPOLLIN | EPOLLET;
    ASSERT_EQ(epoll_ctl(wake, EPOLL_CTL_ADD, event, &e), 0);
    /* Each entry is an answer to what was taken before it, so the client is often about to sleep
     * when it comes. */
    std::thread worker([&] {
        uint64_t one = 1;

        for (uint32_t tail = 0; tail < rounds;) {
            if (tail - __atomic_load_n(&s.channel.cq_head, __ATOMIC_ACQUIRE) > tail % 3)
                continue;
            s.cq[tail % entries] = tail;
            if (protocol_publish(&s.channel, ++tail))
                (void)!write(event, &one, sizeof one);
        }
    });
    uint32_t head = 0;
    while (head < rounds) {
        while (__atomic_load_n(&s.channel.cq_tail, __ATOMIC_ACQUIRE) != head) {
            ASSERT_EQ(s.cq[head % entries], head);
            __atomic_store_n(&s.channel.cq_head, ++head, __ATOMIC_RELEASE);
        }
        if (head < rounds && protocol_arm(&s.channel, head) && epoll_wait(wake, &e, 1, 3000) == 0) {
            late++;
            break;
        }
    }
    EXPECT_EQ(late, 0) << "asleep for 3 s with entry " << head << " there";
    /* Lets the worker end, whatever happened. */
    while (head < rounds) {
        head = __atomic_load_n(&s.channel.cq_tail, __ATOMIC_ACQUIRE);
        __atomic_store_n(&s.channel.cq_head, head, __ATOMIC_RELEASE);
    }
    worker.join();
    close(event);
    close(wake);
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
