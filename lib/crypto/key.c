/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypto/key.h"

#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/check.h"
#include "crypto/secret.h"

#define TEXT_LEN    (KEY_TEXT_BYTES - 1)
#define DECODED_LEN (TEXT_LEN / 4 * 3) /* EVP_DecodeBlock() counts the padding as a byte */

void key_format(const uint8_t key[KEY_BYTES], char text[KEY_TEXT_BYTES])
{
    CHECK(EVP_EncodeBlock((unsigned char *)text, key, KEY_BYTES) == TEXT_LEN);
}

int key_parse(const char *text, uint8_t key[KEY_BYTES])
{
    unsigned char bytes[DECODED_LEN];
    char again[KEY_TEXT_BYTES];
    bool exact = false;

    if (strlen(text) == TEXT_LEN &&
        EVP_DecodeBlock(bytes, (const unsigned char *)text, TEXT_LEN) == DECODED_LEN) {
        /* libcrypto ignores white space, and bits of the last character that mean nothing */
        key_format(bytes, again);
        exact = secret_equal(text, again, TEXT_LEN);
    }
    if (exact)
        memcpy(key, bytes, KEY_BYTES);
    secret_wipe(bytes, sizeof bytes);
    secret_wipe(again, sizeof again);
    return exact ? 0 : -EINVAL;
}
