/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys as text: 32 bytes in base64 (RFC 4648, section 4), 44 characters, as WireGuard writes them.
 * So `wg genkey`, `wg pubkey` and `wg genpsk` make keys for Sluice, too.
 */
#ifndef SLUICE_CRYPTO_KEY_H
#define SLUICE_CRYPTO_KEY_H

#include <stdint.h>

#define KEY_BYTES      32
#define KEY_TEXT_BYTES 45 /* with the 0 at the end */

void key_format(const uint8_t key[KEY_BYTES], char text[KEY_TEXT_BYTES]);

/* Returns 0, or -EINVAL: text is not exactly such a key. Then key is unchanged. */
int key_parse(const char *text, uint8_t key[KEY_BYTES]);

#endif
