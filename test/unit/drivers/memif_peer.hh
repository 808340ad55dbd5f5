// SPDX-License-Identifier: BSD-3-Clause
// The client's end of a memif, without DPDK: it connects as libmemif's clients do, and sends
// nothing. Protocol: drivers/net/memif/memif.h of DPDK.
#ifndef TEST_MEMIF_PEER_HH
#define TEST_MEMIF_PEER_HH

#include <atomic>
#include <cstdint>
#include <string>

class MemifPeer
{
  public:
    // Connects and sends nothing, so that net_memif knows the connection, but no device has it.
    explicit MemifPeer(const std::string &path);
    // Connects with so many queues in each direction. Check connected() then. Meanwhile *steps
    // counts the messages that the peer waited for, whether they came or not.
    MemifPeer(const std::string &path, unsigned queues, std::atomic<uint64_t> *steps = nullptr);
    // Leaves as a process does that is killed.
    ~MemifPeer();
    MemifPeer(const MemifPeer &) = delete;

    bool connected() const
    {
        return is_connected;
    }

  private:
    int fd = -1, memory = -1;
    std::atomic<uint64_t> *steps = nullptr;
    bool is_connected;

    bool shake_hands(unsigned queues);
    bool send(unsigned type, const std::string &body, int descriptor = -1);
    bool receive(unsigned type);
};

#endif
