// SPDX-License-Identifier: BSD-3-Clause
#include "pcapng.hh"

#include <cstring>

namespace
{

constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr uint16_t kEnd = 0, kComment = 1, kName = 2, kResolution = 9, kFlags = 2;
constexpr uint32_t kSnap = 262144;

template <typename T> void put(std::string &s, T v)
{
    s.append(reinterpret_cast<const char *>(&v), sizeof v);
}

void pad(std::string &s)
{
    s.append((4 - s.size() % 4) % 4, '\0');
}

void option(std::string &s, uint16_t code, const std::string &value)
{
    put(s, code);
    put(s, static_cast<uint16_t>(value.size()));
    s += value;
    pad(s);
}

} // namespace

Pcapng::~Pcapng()
{
    if (file != nullptr)
        std::fclose(file);
}

void Pcapng::block(uint32_t type, const std::string &body)
{
    uint32_t len = static_cast<uint32_t>(body.size()) + 12;

    std::fwrite(&type, 4, 1, file);
    std::fwrite(&len, 4, 1, file);
    std::fwrite(body.data(), 1, body.size(), file);
    std::fwrite(&len, 4, 1, file);
}

bool Pcapng::open(const std::string &path)
{
    std::string s;

    file = std::fopen(path.c_str(), "wb");
    if (file == nullptr)
        return false;
    put(s, 0x1a2b3c4du);
    put(s, static_cast<uint16_t>(1));
    put(s, static_cast<uint16_t>(0));
    put(s, ~0ull); // length not known
    block(kSection, s);
    return true;
}

void Pcapng::host(const std::string &name)
{
    std::string s;

    put(s, static_cast<uint16_t>(1)); // Ethernet
    put(s, static_cast<uint16_t>(0));
    put(s, kSnap);
    option(s, kName, name);
    option(s, kResolution, std::string(1, '\x09'));
    option(s, kEnd, "");
    block(kInterface, s);
}

void Pcapng::frame(uint32_t i, bool out, uint64_t now_ns, const WholeFrame &frame, const char *what)
{
    std::string s, flags;
    uint32_t len = frame.size();

    put(s, i);
    put(s, static_cast<uint32_t>(now_ns >> 32));
    put(s, static_cast<uint32_t>(now_ns));
    put(s, len);
    put(s, len);
    s.append(reinterpret_cast<const char *>(frame.data()), len);
    pad(s);
    put(flags, static_cast<uint32_t>(out ? 2 : 1));
    option(s, kFlags, flags);
    if (what != nullptr)
        option(s, kComment, what);
    option(s, kEnd, "");
    block(kPacket, s);
}
