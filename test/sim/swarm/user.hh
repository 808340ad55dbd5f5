// SPDX-License-Identifier: BSD-3-Clause
// The applications of a swarm's world. They open connections, send, post buffers, shut down and
// give up as planned, and judge every completion.
//
// All receive buffers of an end lie in one arena, with guards between them. The arena is made
// before the world runs, and filled with a known byte. A buffer is checked when it is posted (still
// untouched), when it completes (it holds the request, and no byte after it was written), and when
// the connection is over (unchanged). The memory of a send is overwritten as soon as it completes.
#ifndef SLUICE_TEST_SIM_USER_HH
#define SLUICE_TEST_SIM_USER_HH

#include <cstdint>
#include <deque>
#include <vector>

#include "plan.hh"
#include "verdict.hh"

struct Block {
    enum State { FRESH, POSTED, DONE };
    uint64_t off, len; // in the arena
    State state = FRESH;
    uint64_t filled = 0; // bytes received
    // for Placement
    uint32_t unit_bytes = 0;
    std::vector<bool> got;
};

struct End {
    const EndPlan *plan;
    uint32_t talk, side;
    uint32_t conn = HOST_CONN_NONE;
    bool started = false, opened = false, asked = false, shut = false;
    bool released = false; // host_close() was called
    bool aborted = false;  // ... because the plan says so
    bool gone = false;     // the connection's number is free again
    int error = 0;         // why the connection failed
    uint64_t failed_at = 0, opened_at = 0;
    std::vector<uint8_t> arena;
    std::vector<Block> blocks;
    size_t posted = 0, received = 0;         // buffers
    std::deque<std::vector<uint8_t>> memory; // of requests not yet completed
    size_t sent = 0, completed = 0, provisional = 0;
    uint64_t next_send = 0, next_recv = 0;
    uint64_t progress = 0; // when something last completed, or moved

    bool done() const
    {
        return released && gone;
    }
    bool idle() const // no operation is outstanding
    {
        return posted == received && sent == completed && (!started || opened) && (!asked || shut);
    }
};

class Users
{
  public:
    Users(const Plan &plan, world *w, Verdict *verdict);

    // Called after each poll of host i.
    void run(uint32_t i, uint64_t now);
    // Faults are over: applications no longer pause.
    void hurry()
    {
        hurried = true;
    }
    bool all_done() const
    {
        return left == 0;
    }
    // Checks all buffers and guards of an end.
    void inspect(End &e);
    End &end(uint32_t talk, uint32_t side)
    {
        return ends[2 * talk + side];
    }
    std::vector<End> ends; // of talk t: 2 t, 2 t + 1
    uint64_t bytes = 0, short_buffers = 0, failed = 0, timed_out = 0, refused = 0, aborts = 0;

  private:
    struct Desk { // a host's ends, and when they act next
        std::vector<uint32_t> ends;
        uint64_t next = 0;
    };

    void build(End &e);
    void complete(End &e, const host_completion &c, uint64_t now);
    void complete_recv(End &e, const host_completion &c);
    void complete_send(End &e, const host_completion &c);
    void fail(End &e, int status, uint64_t now);
    void act(End &e, host *h, uint64_t now);
    void start(End &e, host *h, uint64_t now);
    void post(End &e, host *h, uint64_t now);
    void send_one(End &e, host *h, uint64_t now);
    void recv_one(End &e, host *h, uint64_t now);
    uint64_t pause(uint64_t gap);
    uint64_t wanted(const End &e) const;

    const Plan &plan;
    world *w;
    Verdict *verdict;
    struct rng rng;
    std::vector<Desk> desks;
    size_t left;
    bool hurried = false;
};

// Seed of the payload of request r that side `side` of a talk sends.
uint64_t payload_seed(uint32_t talk, uint32_t side, size_t r);
void payload_fill(uint64_t seed, uint8_t *p, uint64_t len);
// Index of the first byte that differs; len if none does.
uint64_t payload_differs(uint64_t seed, const uint8_t *p, uint64_t len);

#endif
