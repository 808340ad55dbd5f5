// SPDX-License-Identifier: BSD-3-Clause
// Captures of a daemon's ports: which requests are refused, which queue writes into which ring, and
// what the log says of it (control/captures.h).
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "common/clock.h"
#include "common/say.h"
#include "sluiced/control/captures.h"
#include "sluiced/daemon.h"
}

namespace
{

constexpr uint64_t kPage = PROTOCOL_PAGE;
constexpr uint32_t kQueues[] = {1, 3}; // of each port

struct Free {
    void operator()(struct daemon *d) const
    {
        free(d);
    }
};

class Captures : public testing::Test
{
  protected:
    void SetUp() override
    {
        d.reset(static_cast<struct daemon *>(calloc(1, sizeof(struct daemon))));
        ASSERT_NE(d, nullptr);
        d->capture_clock.clock.hz = d->hz = 1000000000;
        for (uint32_t queues : kQueues) {
            config_port *cfg = &d->config.ports[d->n_ports];

            snprintf(cfg->name, sizeof cfg->name, "port%u", d->n_ports);
            d->ports[d->n_ports].cfg = cfg;
            d->ports[d->n_ports].queues = static_cast<uint16_t>(queues);
            d->first_queue[d->n_ports++] = d->n_queues;
            d->n_queues += queues;
        }
        mbuf.buf_addr = frame;
        mbuf.data_len = sizeof frame;
        mbuf.pkt_len = sizeof frame;
    }
    session_capture of(uint32_t port, std::vector<uint8_t> &memory) const
    {
        session_capture what = {};

        what.port = port;
        what.interface = 7;
        what.snap_bytes = 2;
        what.memory = memory.data();
        what.len_bytes = memory.size();
        what.uid = 1001;
        what.pid = 77;
        return what;
    }
    // The text of a refusal, after its status.
    std::string refused(const session_capture &asked)
    {
        session_capture what = asked;
        capture *made = nullptr;
        char text[200] = "";
        int status = captures_begin(d.get(), &what, &made, text, sizeof text);

        EXPECT_EQ(made, nullptr);
        EXPECT_EQ(d->n_captures, begun);
        return std::to_string(status) + " " + text;
    }
    capture *begin(session_capture *what)
    {
        capture *made = nullptr;
        char text[200] = "";

        EXPECT_EQ(captures_begin(d.get(), what, &made, text, sizeof text), 0) << text;
        begun++;
        return made;
    }
    void end(capture *c)
    {
        captures_end(d.get(), c);
        captures_free(d.get(), c);
        begun--;
    }
    // The worker of this queue receives n frames.
    void receive(uint32_t queue, uint32_t n)
    {
        rte_mbuf *m = &mbuf;

        while (n-- > 0)
            capture_rx(capture_first(&d->queues[queue].captures), &m, 1, 0);
    }

    std::unique_ptr<struct daemon, Free> d;
    char frame[4] = {'a', 'b', 'c', 'd'};
    rte_mbuf mbuf = {};
    uint32_t begun = 0;
};

std::string error(int number)
{
    return std::to_string(-number) + " ";
}

} // namespace

TEST_F(Captures, EachQueueOfThePortHasItsRing)
{
    std::vector<uint8_t> memory(3 * CAPTURE_RING_MIN + 2 * kPage);
    session_capture what = of(1, memory);
    capture *c = begin(&what);

    EXPECT_EQ(what.rings, 3u);
    EXPECT_EQ(what.ring_bytes, CAPTURE_RING_MIN) << "whole pages";
    EXPECT_EQ(capture_first(&d->queues[0].captures), nullptr) << "a queue of the other port";
    for (uint32_t i = 0; i < 3; i++)
        receive(d->first_queue[1] + i, i + 1);
    for (uint32_t i = 0; i < 3; i++) {
        capture_reader r;
        uint32_t n = 0;

        capture_reader_init(&r, memory.data() + i * what.ring_bytes, what.ring_bytes);
        capture_reader_look(&r);
        for (; const capture_block *b = capture_reader_next(&r); n++) {
            const uint32_t *queue = reinterpret_cast<const uint32_t *>(b) + 7 + 1 + 2 + 1;

            EXPECT_EQ(b->interface, 7u);
            EXPECT_EQ(b->captured_bytes, 2u);
            EXPECT_EQ(*queue, i);
            capture_reader_take(&r);
        }
        EXPECT_EQ(n, i + 1);
    }
    end(c);
    for (uint32_t i = 0; i < d->n_queues; i++)
        EXPECT_EQ(capture_first(&d->queues[i].captures), nullptr) << i;
}

// The number of the port comes from the client.
TEST_F(Captures, RefusesAPortThatIsNotThere)
{
    std::vector<uint8_t> memory(CAPTURE_RING_MIN);

    for (uint32_t port : {2u, uint32_t{CONFIG_PORTS_MAX}, UINT32_MAX})
        EXPECT_EQ(refused(of(port, memory)),
                  error(ENODEV) + "no port has number " + std::to_string(port));
}

TEST_F(Captures, RefusesMemoryThatIsTooShortForTheQueues)
{
    std::vector<uint8_t> memory(3 * CAPTURE_RING_MIN - kPage);

    EXPECT_EQ(refused(of(1, memory)), error(EINVAL) + std::to_string(memory.size()) +
                                          " bytes are too few for 3 queues: give 262144 for each");
    session_capture what = of(0, memory);
    end(begin(&what));
}

TEST_F(Captures, FourOfAPortAtATime)
{
    std::vector<std::vector<uint8_t>> memory(6, std::vector<uint8_t>(3 * CAPTURE_RING_MIN));
    std::vector<capture *> made;

    for (uint32_t i = 0; i < 4; i++) {
        session_capture what = of(1, memory[i]);

        made.push_back(begin(&what));
    }
    EXPECT_EQ(refused(of(1, memory[4])),
              error(EBUSY) + "port port1 has 4 captures already: end one of them");
    session_capture other = of(0, memory[5]);
    made.push_back(begin(&other));
    end(made[1]);
    session_capture again = of(1, memory[4]);
    made[1] = begin(&again);
    for (capture *c : made)
        end(c);
    EXPECT_EQ(d->n_captures, 0u);
}

// Of all queues; a frame that had no room counts among them.
TEST_F(Captures, TheLogCountsFrames)
{
    std::vector<uint8_t> memory(3 * CAPTURE_RING_MIN);
    session_capture what = of(1, memory);

    testing::internal::CaptureStderr();
    capture *c = begin(&what);
    std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("port port1: captured from now on, by process 77 of user 1001"),
              std::string::npos)
        << log;
    // Nobody reads: so many blocks have room in each ring.
    constexpr uint32_t kBlock = 28 + 4 + 16 + 8;
    constexpr uint32_t kRoom = (CAPTURE_RING_MIN - sizeof(capture_ring)) / kBlock;
    receive(1, kRoom + 5);
    receive(2, 3);
    receive(3, kRoom + 1);
    testing::internal::CaptureStderr();
    end(c);
    log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("the capture of process 77 has ended: " + std::to_string(2 * kRoom + 9) +
                       " frames, of which it had no room for 6"),
              std::string::npos)
        << log;
}

// A second capture begins and ends while a worker copies for the first.
TEST_F(Captures, ComeAndGoWhileAWorkerCopies)
{
    std::vector<uint8_t> memory(CAPTURE_RING_MIN), other(CAPTURE_RING_MIN);
    session_capture what = of(0, memory);
    std::atomic<bool> over{false};
    std::atomic<uint32_t> passed{0}; // iterations of the worker

    d->capture_clock.clock.hz = d->hz = clock_measure_hz();
    capture *first = begin(&what);
    std::thread worker([&] {
        while (!over) {
            receive(0, 1);
            passed++;
        }
    });
    auto iterate = [&] {
        for (uint32_t before = passed; passed < before + 2;)
            std::this_thread::yield();
    };
    for (uint32_t i = 0; i < 20; i++) {
        session_capture more = of(0, other);
        capture *second = begin(&more);

        iterate();
        captures_tick(d.get());
        captures_end(d.get(), second);
        iterate();
        EXPECT_GT(reinterpret_cast<const capture_ring *>(other.data())->tail, 0u);
        captures_free(d.get(), second);
        begun--;
    }
    over = true;
    worker.join();
    end(first);
}
