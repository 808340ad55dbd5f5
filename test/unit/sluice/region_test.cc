/* SPDX-License-Identifier: BSD-3-Clause */
/* The pattern of content checks, and the digest of a file. */
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "unit/base/seed.h"

extern "C" {
#include "sluice/files/digest.h"
#include "sluice/perf/region.h"
}

TEST(Pattern, FoundWhereItBelongsOnly)
{
    std::vector<uint8_t> a(1003), b(1003);

    pattern_fill(a.data(), a.size(), 5, 4096);
    EXPECT_EQ(pattern_wrong(a.data(), a.size(), 5, 4096), 0u);
    EXPECT_GT(pattern_wrong(a.data(), a.size(), 5, 8192), 990u);
    EXPECT_GT(pattern_wrong(a.data(), a.size(), 6, 4096), 990u);
    EXPECT_GT(pattern_wrong(b.data(), b.size(), 5, 4096), 990u);
    for (size_t i = 0; i < a.size(); i++) {
        a[i] ^= 0x10;
        EXPECT_EQ(pattern_wrong(a.data(), a.size(), 5, 4096), i < 1000 ? 8u : 3u) << i;
        a[i] ^= 0x10;
    }
    EXPECT_EQ(pattern_wrong(a.data(), 0, 5, 4096), 0u);
}

TEST(Digest, SameAsAtOnce)
{
    std::mt19937_64 rng(test_seed());
    struct digest *d = digest_create();

    for (int round = 0; round < 50; round++) {
        std::string all;
        uint8_t hash[RECORD_HASH_BYTES];
        XXH128_canonical_t expected;

        digest_reset(d);
        for (uint64_t n = rng() % 6; n > 0; n--) {
            uint64_t len = rng() % 200000;

            if (rng() % 2) {
                all.append(len, '\0');
                digest_zeros(d, len);
            } else {
                std::string part(len, (char)rng());

                all += part;
                digest_update(d, part.data(), len);
            }
        }
        digest_value(d, hash);
        XXH128_canonicalFromHash(&expected, XXH3_128bits(all.data(), all.size()));
        EXPECT_EQ(memcmp(hash, expected.digest, sizeof hash), 0) << all.size();
    }
    digest_destroy(d);
}

TEST(Digest, KnownValue)
{
    struct digest *d = digest_create();
    uint8_t hash[RECORD_HASH_BYTES];
    char hex[DIGEST_HEX_BYTES];

    digest_value(d, hash);
    digest_hex(hex, hash);
    EXPECT_STREQ(hex, "99aa06d3014798d86001c324468d497f"); /* of no bytes, by xxhsum -H2 */
    digest_destroy(d);
}
