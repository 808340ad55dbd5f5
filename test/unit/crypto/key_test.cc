/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys as text: golden ones, every bit, and everything that is not exactly a key. */
#include <gtest/gtest.h>

#include <cerrno>

#include "bytes.hh"

extern "C" {
#include "crypto/key.h"
}

namespace
{

std::string format(const Bytes &key)
{
    char text[KEY_TEXT_BYTES];

    key_format(key.data(), text);
    return text;
}

/* The key; nothing: the text is none, and the key was not touched. */
Bytes parse(const std::string &text)
{
    Bytes key(KEY_BYTES, 0xa5);
    int rc = key_parse(text.c_str(), key.data());

    if (rc == 0)
        return key;
    EXPECT_EQ(rc, -EINVAL);
    EXPECT_EQ(key, Bytes(KEY_BYTES, 0xa5)) << text;
    return {};
}

/* The bytes 0, 1, ... 31. */
const char *counting = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

} // namespace

TEST(Key, Golden)
{
    Bytes key(KEY_BYTES);

    for (size_t i = 0; i < key.size(); i++)
        key[i] = static_cast<uint8_t>(i);
    EXPECT_EQ(format(key), counting);
    EXPECT_EQ(parse(counting), key);
    EXPECT_EQ(format(Bytes(KEY_BYTES)), std::string(43, 'A') + "=");
    EXPECT_EQ(parse(std::string(42, '/') + "8="), Bytes(KEY_BYTES, 0xff));
    EXPECT_EQ(parse("+" + std::string(42, 'A') + "=")[0], 0xf8);
}

TEST(Key, EveryBit)
{
    std::set<std::string> seen;

    for (unsigned bit = 0; bit < 8 * KEY_BYTES; bit++) {
        Bytes key(KEY_BYTES);

        key[bit / 8] = static_cast<uint8_t>(1 << bit % 8);
        EXPECT_TRUE(seen.insert(format(key)).second);
        EXPECT_EQ(parse(format(key)), key);
    }
}

TEST(Key, EveryCharacterAtEveryPlace)
{
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t at = 0; at < 44; at++) {
        for (int c = 1; c < 256; c++) {
            std::string text = counting;
            bool letter = letters.find(static_cast<char>(c)) != std::string::npos;
            /* the last letter has two bits that mean nothing, and must be 0 */
            bool right = at < 42    ? letter
                         : at == 42 ? letter && letters.find(static_cast<char>(c)) % 4 == 0
                                    : c == '=';

            text[at] = static_cast<char>(c);
            ASSERT_EQ(!parse(text).empty(), right) << at << " " << c;
            if (right) {
                ASSERT_EQ(format(parse(text)), text);
            }
        }
    }
}

TEST(Key, OtherLengths)
{
    const std::string key = counting;

    for (size_t len = 0; len < 44; len++)
        EXPECT_TRUE(parse(key.substr(0, len)).empty()) << len;
    for (const std::string &text :
         {key + "=", key + "\n", key + " ", " " + key, key + key, "\n" + key.substr(0, 43),
          key.substr(0, 43) + "\n", key.substr(0, 42) + "==", key.substr(0, 40) + "====",
          key.substr(0, 20) + "\n" + key.substr(21), std::string(44, '='), std::string(44, ' '),
          "-" + key.substr(1), "_" + key.substr(1)})
        EXPECT_TRUE(parse(text).empty()) << text;
}
