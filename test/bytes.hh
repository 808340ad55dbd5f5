// SPDX-License-Identifier: BSD-3-Clause
// Bytes for tests: from hex and to hex, buffers that end exactly, seeded random ones.
#ifndef SLUICE_TEST_BYTES_HH
#define SLUICE_TEST_BYTES_HH

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "unit/base/seed.h"

extern "C" {
#include "base/rng.h"
}

using Bytes = std::vector<uint8_t>;

// "01 02ff" -> {1, 2, 255}. Spaces are only for reading.
inline Bytes from_hex(const std::string &text)
{
    auto digit = [](char c) -> unsigned {
        return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    };
    Bytes out;
    unsigned high = 0;
    bool half = false;

    for (char c : text) {
        if (c == ' ')
            continue;
        if (half)
            out.push_back(static_cast<uint8_t>(high << 4 | digit(c)));
        high = digit(c);
        half = !half;
    }
    return out;
}

inline std::string to_hex(const Bytes &b)
{
    std::string out;
    char two[3];

    for (uint8_t x : b) {
        std::snprintf(two, sizeof two, "%02x", x);
        out += two;
    }
    return out;
}

// Changes one bit of these bytes.
template <class T> void flip(T &&bytes, size_t bit)
{
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
}

// A copy of `len` bytes at an odd address. It ends with its allocation, so that AddressSanitizer
// sees any read beyond it, and UBSan any read that assumes alignment.
class Exact
{
  public:
    Exact(const uint8_t *p, size_t len) : storage(new uint8_t[len + 1])
    {
        if (len > 0)
            std::memcpy(storage.get() + 1, p, len);
    }
    explicit Exact(const Bytes &b) : Exact(b.data(), b.size())
    {
    }
    uint8_t *data()
    {
        return storage.get() + 1;
    }

  private:
    std::unique_ptr<uint8_t[]> storage;
};

// The seed is SLUICE_SEED, or fresh in each run. It is printed.
class Random
{
  public:
    Random()
    {
        rng_init(&rng, test_seed());
    }
    uint64_t u64()
    {
        return rng_u64(&rng);
    }
    uint64_t below(uint64_t bound)
    {
        return rng_below(&rng, bound);
    }
    // Any value, but often one at a boundary.
    uint64_t spread()
    {
        switch (below(4)) {
        case 0:
            return below(4);
        case 1:
            return ~below(4);
        default:
            return u64() >> below(64);
        }
    }
    Bytes bytes(size_t len)
    {
        Bytes b(len);

        for (auto &x : b)
            x = static_cast<uint8_t>(u64());
        return b;
    }

  private:
    struct rng rng;
};

#endif
