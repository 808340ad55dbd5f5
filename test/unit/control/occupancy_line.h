/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The paper's experiment ([THRESHOLDS]). The sender always has data. The line carries 100 Mbit/s
 * with a delay of 5 ms. The receive buffer holds 10 packets of 3 kB, including the one that is
 * processed. The host processes 20 Mbit/s, but 1/L of that from 1 s on, for T seconds. A packet
 * that finds no room is asked for at once, and sent again next, before new ones. The experiment is
 * observed from 1 s to 3 s. The sender begins at phase_ns, at the rate of the host.
 */
#ifndef SLUICE_TEST_OCCUPANCY_LINE_H
#define SLUICE_TEST_OCCUPANCY_LINE_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <queue>

extern "C" {
#include "control/occupancy.h"
}

class OccupancyLine
{
  public:
    static constexpr uint64_t MS = 1000000, SECOND = 1000 * MS;
    static constexpr uint64_t PACKET_BITS = 3000 * 8, LINE_NS = 240000, DELAY_NS = 5 * MS;
    static constexpr uint64_t SERVICE_NS = 1200000;
    static constexpr uint32_t BUFFER = 10;

    uint64_t load = 2, load_ns = SECOND, phase_ns = 0;

    /* While it is observed. */
    uint64_t processed = 0, entered = 0, delay_ns = 0; /* of packets that entered the buffer */
    uint64_t controls = 0, overflows = 0;
    uint64_t controls_late = 0; /* from 2.2 s on */
    uint64_t grown_ns =
        0; /* the time at which the interval stopped growing, beyond the need of the loaded host */

    explicit OccupancyLine(const struct occupancy_law &law)
    {
        occupancy_init(&buffer, &law);
        occupancy_pace_init(&pace, &law, SERVICE_NS, LINE_NS, SECOND);
    }

    void run()
    {
        at(phase_ns, SEND, 0);
        while (now < 3 * SECOND) {
            Event e = events.top();

            events.pop();
            now = e.at;
            switch (e.what) {
            case SEND:
                send(e.packet);
                break;
            case ARRIVE:
                arrive(e.packet);
                break;
            case SERVED:
                served();
                break;
            case TOLD:
                tell(static_cast<int8_t>(e.packet));
                break;
            case ASKED:
                again.push_back(e.packet);
                break;
            }
        }
    }

    double throughput_bps() const
    {
        return (double)(processed * PACKET_BITS) / 2;
    }
    /* bit/s for each second of mean delay */
    double power() const
    {
        return throughput_bps() / ((double)delay_ns / (double)entered / 1e9);
    }

  private:
    enum What { SERVED, ARRIVE, TOLD, ASKED, SEND };
    struct Event {
        uint64_t at, order;
        What what;
        uint64_t packet;

        bool operator<(const Event &e) const
        {
            return at != e.at ? at > e.at : order > e.order;
        }
    };

    void at(uint64_t when, What what, uint64_t packet)
    {
        events.push({when, order++, what, packet});
    }

    bool seen() const
    {
        return now >= SECOND;
    }

    bool loaded() const
    {
        return now >= SECOND && now < SECOND + load_ns;
    }

    void tell(int8_t zone)
    {
        if (grown_ns == 0 && now >= SECOND && zone < 0 &&
            pace.interval_us * 1000 > (double)(load * SERVICE_NS))
            grown_ns = now;
        occupancy_pace_signal(&pace, zone);
        plan();
    }

    /* The next packet leaves as soon as it may. Earlier plans are void. */
    void plan()
    {
        at(std::max(now, occupancy_pace_next(&pace)), SEND, ++turn);
    }

    void send(uint64_t its_turn)
    {
        uint64_t packet = first.size();

        if (its_turn != turn)
            return;
        if (!again.empty()) {
            packet = again.front();
            again.pop_front();
        } else {
            first.push_back(now);
        }
        at(now + LINE_NS + DELAY_NS, ARRIVE, packet);
        occupancy_pace_sent(&pace, now);
        plan();
    }

    void level()
    {
        if (occupancy_update(&buffer, waiting)) {
            controls += seen();
            controls_late += now >= 2200 * MS;
            at(now + DELAY_NS, TOLD, static_cast<uint64_t>(buffer.zone));
        }
    }

    void arrive(uint64_t packet)
    {
        if (waiting == BUFFER) {
            overflows += seen();
            at(now + DELAY_NS, ASKED, packet);
            return;
        }
        if (seen()) {
            entered++;
            delay_ns += now - first[packet];
        }
        if (waiting++ == 0)
            serve();
        level();
    }

    void serve()
    {
        at(now + SERVICE_NS * (loaded() ? load : 1), SERVED, 0);
    }

    void served()
    {
        processed += seen();
        if (--waiting > 0)
            serve();
        level();
    }

    struct occupancy buffer;
    struct occupancy_pace pace;
    uint64_t now = 0, order = 0, turn = 0;
    uint32_t waiting = 0;
    std::deque<uint64_t> first; /* when each was first sent */
    std::deque<uint64_t> again;
    std::priority_queue<Event> events;
};

#endif
