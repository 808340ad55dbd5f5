// SPDX-License-Identifier: BSD-3-Clause
// A capture file (pcapng) of all hosts. Each host is an interface with its name. Each frame has a
// time in ns and a direction: out when a host sends it, in when a host takes it.
#ifndef SLUICE_TEST_SIM_PCAPNG_HH
#define SLUICE_TEST_SIM_PCAPNG_HH

#include <cstdint>
#include <cstdio>
#include <string>

#include "whole.hh"

class Pcapng
{
  public:
    Pcapng() = default;
    ~Pcapng();
    Pcapng(const Pcapng &) = delete;

    // False if the file cannot be written.
    bool open(const std::string &path);
    void host(const std::string &name);
    // Writes a frame of host i. what: a comment for the frame, or nullptr.
    void frame(uint32_t i, bool out, uint64_t now_ns, const WholeFrame &frame, const char *what);
    bool is_open() const
    {
        return file != nullptr;
    }

  private:
    void block(uint32_t type, const std::string &body);

    std::FILE *file = nullptr;
};

#endif
