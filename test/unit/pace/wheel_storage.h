/* SPDX-License-Identifier: BSD-3-Clause */
/* A wheel in its own memory. */
#ifndef SLUICE_TEST_WHEEL_STORAGE_H
#define SLUICE_TEST_WHEEL_STORAGE_H

#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

extern "C" {
#include "pace/wheel.h"
}

struct WheelStorage {
    explicit WheelStorage(size_t bytes)
        : size((bytes + 63) / 64 * 64), memory(std::aligned_alloc(64, size), std::free)
    {
        std::memset(memory.get(), 0xa5, size); /* memory has arbitrary contents */
    }

    /* Copies a wheel of the same size. Its storage has pointers into itself. */
    void copy(const WheelStorage &from)
    {
        std::memcpy(memory.get(), from.memory.get(), size);
        struct wheel *w = static_cast<struct wheel *>(memory.get());
        const char *old = static_cast<const char *>(from.memory.get());

        auto move = [&](auto &pointer) {
            auto at = reinterpret_cast<const char *>(pointer) - old;

            pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
                static_cast<char *>(memory.get()) + at);
        };
        move(w->pool.words);
        move(w->pool.links);
        move(w->position);
    }

    size_t size;
    std::unique_ptr<void, void (*)(void *)> memory;
};

#endif
