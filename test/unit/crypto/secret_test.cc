/* SPDX-License-Identifier: BSD-3-Clause */
/* Secrets: exactly the given bytes are wiped, and any single bit makes a difference. */
#include <gtest/gtest.h>

#include "bytes.hh"

extern "C" {
#include "crypto/secret.h"
}

TEST(Secret, WipesWhatItIsGiven)
{
    for (size_t len = 0; len <= 70; len++) {
        Bytes b(72, 0xa5), expect = b;

        std::fill_n(expect.begin() + 1, len, 0);
        secret_wipe(b.data() + 1, len);
        EXPECT_EQ(b, expect) << len;
    }
}

TEST(Secret, EqualButForABit)
{
    Random r;

    for (size_t len : {0, 1, 7, 16, 32, 33}) {
        Bytes a = r.bytes(len), b = a;

        EXPECT_TRUE(secret_equal(Exact(a).data(), Exact(b).data(), len));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            b = a;
            flip(b, bit);
            EXPECT_FALSE(secret_equal(Exact(a).data(), Exact(b).data(), len)) << bit;
        }
    }
}

TEST(Secret, UnsetButForABit)
{
    for (size_t len : {0, 1, 7, 16, 32, 33}) {
        EXPECT_TRUE(secret_unset(Exact(Bytes(len)).data(), len));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            Bytes b(len);

            b[bit / 8] = static_cast<uint8_t>(1 << bit % 8);
            EXPECT_FALSE(secret_unset(Exact(b).data(), len)) << bit;
        }
    }
}
