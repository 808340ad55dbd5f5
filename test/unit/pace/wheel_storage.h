/* SPDX-License-Identifier: BSD-3-Clause */
/* A wheel in memory of its own. */
#ifndef SLUICE_TEST_WHEEL_STORAGE_H
#define SLUICE_TEST_WHEEL_STORAGE_H

#include <cstdlib>
#include <cstring>
#include <memory>

extern "C" {
#include "pace/wheel.h"
}

struct WheelStorage {
    explicit WheelStorage(size_t bytes)
        : size((bytes + 63) / 64 * 64), memory(std::aligned_alloc(64, size), std::free)
    {
        std::memset(memory.get(), 0xa5, size); /* whatever was there */
    }

    /* A wheel's storage points into itself. */
    WheelStorage(const WheelStorage &from) : WheelStorage(from.size)
    {
        std::memcpy(memory.get(), from.memory.get(), size);
        struct wheel *w = static_cast<struct wheel *>(memory.get());
        const char *old = static_cast<const char *>(from.memory.get());

        w->pool.words = reinterpret_cast<uint64_t *>(
            static_cast<char *>(memory.get()) + (reinterpret_cast<char *>(w->pool.words) - old));
        w->position = reinterpret_cast<uint32_t *>(static_cast<char *>(memory.get()) +
                                                   (reinterpret_cast<char *>(w->position) - old));
    }

    size_t size;
    std::unique_ptr<void, void (*)(void *)> memory;
};

#endif
