// SPDX-License-Identifier: BSD-3-Clause
// A worker loses its core in the middle of a burst, for longer than control waits. Meanwhile no
// port is started again, and no memory that the worker uses is unmapped. The worker's loop and the
// links' watch by control are the daemon's own code. The port queues are this test's: they block
// while `hold` is set.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include <unistd.h>

#include <rte_cycles.h>

extern "C" {
#include "common/clock.h"
#include "common/grace.h"
#include "common/say.h"
#include "host/host_internal.h"
#include "sluiced/port/links.h"
}

namespace
{

constexpr uint64_t kHz = 1000000000;    // about the TSC's frequency
constexpr useconds_t kLong_us = 300000; // longer than any wait of control

std::atomic<bool> hold, held, inside, needs;
std::atomic<unsigned> restarts, restarts_inside;

} // namespace

// ---- stubs for the other parts of the daemon that these two call

uint32_t port_queue_run(struct port_queue *l, uint64_t)
{
    if (!__atomic_load_n(&l->active, __ATOMIC_ACQUIRE))
        return 1;
    inside = true; // stands for rte_eth_rx_burst()
    while (hold) {
        held = true; // not set by a round that read hold before the test set it
        usleep(100);
    }
    held = inside = false;
    return 1;
}
uint64_t port_queue_next(const struct port_queue *, uint64_t now)
{
    return now;
}
void port_queue_moderation(struct port_queue *, uint64_t, struct moderation_nap *)
{
}
void port_queue_set_active(struct port_queue *l, bool active)
{
    __atomic_store_n(&l->active, active, __ATOMIC_RELEASE);
}
bool port_needs_restart(const struct port *)
{
    return needs;
}
bool port_restart(struct port *)
{
    restarts++;
    restarts_inside += inside;
    return true;
}
bool port_link_up(const struct port *)
{
    return true;
}
uint64_t port_link_Bps(const struct port *)
{
    return 0;
}
void host_control_set_link(struct host_control *, uint64_t)
{
}
bool channels_sleep(struct channels *)
{
    return true;
}
void channels_awake(struct channels *)
{
}
void wakeup_signal(const struct wakeup *)
{
}
void wakeup_arm(struct wakeup *)
{
}
void wakeup_disarm(struct wakeup *)
{
}
bool wakeup_wait(struct wakeup *, uint64_t)
{
    return false;
}
void grace_loop(bool)
{
}
uint64_t clock_now(void)
{
    return rte_rdtsc();
}
void say_line(enum say_level, const struct say_fields *, const char *, ...)
{
}

namespace
{

class Restart : public testing::Test
{
  protected:
    void SetUp() override
    {
        hold = held = inside = needs = false;
        restarts = restarts_inside = 0;
        d->hz = kHz;
        d->n_ports = d->n_queues = d->n_workers = 1;
        d->ports[0].cfg = &cfg;
        d->ports[0].queues = 1;
        d->ports[0].started = true;
        d->queues[0].active = true;
        d->hosts[0] = static_cast<struct host *>(calloc(1, sizeof *d->hosts[0]));
        d->queues[0].port = &d->ports[0];
        d->queue_worker[0] = w = &d->workers[0];
        w->n_queues = 1;
        w->queues[0] = &d->queues[0];
        w->hz = kHz;
        now = rte_rdtsc();
        links_init(&k, d.get(), now);
        runner = std::thread([this] { worker_main(w); });
        while (!__atomic_load_n(&w->running, __ATOMIC_ACQUIRE))
            usleep(100);
    }
    void TearDown() override
    {
        hold = false;
        worker_stop(w);
        runner.join();
        free(d->hosts[0]);
    }
    void lose_core()
    {
        hold = true;
        while (!held)
            usleep(100);
    }
    void look() // control does so from time to time
    {
        links_watch(&k, now += 10 * kHz);
    }
    bool active() const
    {
        return __atomic_load_n(&d->queues[0].active, __ATOMIC_ACQUIRE);
    }

    std::unique_ptr<struct daemon> d = std::make_unique<struct daemon>();
    config_port cfg = {};
    links k = {};
    worker *w = nullptr;
    uint64_t now = 0;
    std::thread runner;
};

TEST_F(Restart, APortIsNotStartedAnewUnderAWorkerThatLostItsCore)
{
    lose_core();
    needs = true;
    for (int i = 0; i < 3; i++) {
        look();
        EXPECT_EQ(restarts, 0u) << "look " << i;
        EXPECT_FALSE(active()) << "the worker must not begin another burst";
    }
    hold = false;
    while (restarts == 0) // the worker has its core again
        look();
    EXPECT_EQ(restarts_inside, 0u);
    needs = false;
    look();
    EXPECT_TRUE(active());
}

TEST_F(Restart, APortThatCameUpMeanwhileIsGivenBack)
{
    lose_core();
    needs = true;
    look();
    needs = false;
    look();
    EXPECT_TRUE(active());
    EXPECT_EQ(restarts, 0u);
}

TEST_F(Restart, MemoryIsNotUnmappedUnderAWorkerThatLostItsCore)
{
    std::atomic<bool> over{false}, inside_then{false};

    lose_core();
    std::thread waiter([&] {
        worker_await(w); // munmap() waits so first (grace.h)
        inside_then = hold.load();
        over = true;
    });
    usleep(kLong_us);
    EXPECT_FALSE(over);
    hold = false;
    waiter.join();
    EXPECT_FALSE(inside_then);
}

} // namespace
