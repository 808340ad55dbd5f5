/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of files: random ones, and the hash that a sender states for them. */
#ifndef SLUICE_TEST_CONTENT_H
#define SLUICE_TEST_CONTENT_H

#include <random>
#include <string>

extern "C" {
#include "sluice/files/digest.h"
}

static inline std::string content_random(std::mt19937_64 &rng, size_t len_bytes)
{
    std::string content(len_bytes, 0);

    for (auto &byte : content)
        byte = (char)rng();
    return content;
}

/* The same, for large ones: pages of few bytes that are random, all of them different. */
static inline std::string content_large(std::mt19937_64 &rng, size_t len_bytes)
{
    std::string content(len_bytes, (char)rng());

    for (size_t at = 0; at + sizeof(uint64_t) <= len_bytes; at += 512) {
        uint64_t number = rng();

        content.replace(at, sizeof number, (const char *)&number, sizeof number);
    }
    return content;
}

static inline void content_hash(const std::string &content, uint8_t hash[RECORD_HASH_BYTES])
{
    struct digest *d = digest_create();

    digest_update(d, content.data(), content.size());
    digest_value(d, hash);
    digest_destroy(d);
}

#endif
