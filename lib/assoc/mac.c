/* SPDX-License-Identifier: BSD-3-Clause */
#include "assoc/mac.h"

#include <string.h>

#include "crypto/aead.h"
#include "crypto/hash.h"
#include "crypto/secret.h"

_Static_assert(WIRE_NONCE_BYTES == AEAD_NONCE_BYTES && WIRE_TAG_BYTES == AEAD_TAG_BYTES,
               "COOKIE is sealed by crypto/aead.h");

/* A MAC of the first bytes of a packet. */
static void mac_make(const uint8_t *key, uint32_t key_len, const void *data, uint32_t len,
                     uint8_t mac[WIRE_MAC_BYTES])
{
    uint8_t whole[HASH_BYTES];

    hash_hmac(key, key_len, data, len, whole);
    memcpy(mac, whole, WIRE_MAC_BYTES);
}

/* A key for one purpose. Knowing the public key is enough to make it. */
static void key_make(const char *label, const uint8_t public_key[DH_BYTES], uint8_t key[HASH_BYTES])
{
    hash_two(label, strlen(label), public_key, DH_BYTES, key);
}

static void first_make(const uint8_t *init, const uint8_t *public_key, uint8_t mac[WIRE_MAC_BYTES])
{
    uint8_t key[HASH_BYTES];

    key_make("mac1", public_key, key);
    mac_make(key, sizeof key, init, WIRE_MAC1_OFF, mac);
}

void mac_put(uint8_t init[WIRE_INIT_BYTES], const uint8_t public_key[DH_BYTES],
             const struct mac_cookie *cookie, uint64_t epoch_ns, uint64_t now)
{
    first_make(init, public_key, init + WIRE_MAC1_OFF);
    if (cookie->given && now - cookie->at_ns < epoch_ns)
        mac_make(cookie->value, WIRE_MAC_BYTES, init, WIRE_MAC2_OFF, init + WIRE_MAC2_OFF);
    else
        memset(init + WIRE_MAC2_OFF, 0, WIRE_MAC_BYTES);
}

bool mac_first_right(const uint8_t init[WIRE_INIT_BYTES], const uint8_t public_key[DH_BYTES])
{
    uint8_t mac[WIRE_MAC_BYTES];

    first_make(init, public_key, mac);
    return secret_equal(mac, init + WIRE_MAC1_OFF, sizeof mac);
}

/* The cookie of an address in an epoch. */
static void cookie_make(const uint8_t secret[DRBG_SEED_BYTES], const struct addr *from,
                        uint16_t port, uint8_t cookie[WIRE_MAC_BYTES])
{
    uint8_t source[sizeof from->b + 2];

    memcpy(source, from->b, sizeof from->b);
    source[sizeof from->b] = (uint8_t)(port >> 8);
    source[sizeof from->b + 1] = (uint8_t)port;
    mac_make(secret, DRBG_SEED_BYTES, source, sizeof source, cookie);
}

/* Begins a new epoch, if it is time. Epochs follow each other without gaps as long as cookies are
 * handed out, so no cookie is good for longer than two of them. */
static void secret_renew(struct mac_secret *s, struct drbg *random, uint64_t epoch_ns, uint64_t now)
{
    if (s->begun && now - s->begun_ns < epoch_ns)
        return;
    if (s->begun && now - s->begun_ns < 2 * epoch_ns) {
        memcpy(s->before, s->now, sizeof s->before);
        s->begun_ns += epoch_ns;
    } else {
        drbg_bytes(random, s->before, sizeof s->before);
        s->begun = true;
        s->begun_ns = now;
    }
    drbg_bytes(random, s->now, sizeof s->now);
}

bool mac_second_right(struct mac_secret *s, struct drbg *random,
                      const uint8_t init[WIRE_INIT_BYTES], const struct addr *from, uint16_t port,
                      uint64_t epoch_ns, uint64_t now)
{
    const uint8_t *secrets[] = {s->now, s->before};
    uint8_t cookie[WIRE_MAC_BYTES], mac[WIRE_MAC_BYTES];
    bool right = false;

    if (secret_unset(init + WIRE_MAC2_OFF, WIRE_MAC_BYTES)) /* no cookie: nothing to compute */
        return false;
    secret_renew(s, random, epoch_ns, now);
    for (uint32_t i = 0; i < 2; i++) {
        cookie_make(secrets[i], from, port, cookie);
        mac_make(cookie, sizeof cookie, init, WIRE_MAC2_OFF, mac);
        right |= secret_equal(mac, init + WIRE_MAC2_OFF, sizeof mac);
    }
    return right;
}

static struct aead *cookie_cipher(const uint8_t public_key[DH_BYTES])
{
    uint8_t key[HASH_BYTES];

    key_make("cookie", public_key, key);
    return aead_create(AEAD_LIBCRYPTO, AEAD_AES_256_GCM, key);
}

void mac_cookie_put(struct mac_secret *s, struct drbg *random, const uint8_t public_key[DH_BYTES],
                    const uint8_t init[WIRE_INIT_BYTES], const struct addr *from, uint16_t port,
                    uint64_t epoch_ns, uint64_t now, uint8_t cookie[WIRE_COOKIE_BYTES])
{
    uint8_t value[WIRE_MAC_BYTES], *sealed = cookie + WIRE_COOKIE_SEALED;
    struct aead *a = cookie_cipher(public_key);

    secret_renew(s, random, epoch_ns, now);
    cookie_make(s->now, from, port, value);
    drbg_bytes(random, cookie + WIRE_COOKIE_NONCE, WIRE_NONCE_BYTES);
    aead_seal_begin(a, cookie + WIRE_COOKIE_NONCE, init + WIRE_MAC1_OFF, WIRE_MAC_BYTES);
    aead_seal(a, sealed, value, sizeof value);
    aead_seal_end(a, sealed + sizeof value);
    aead_destroy(a);
}

bool mac_cookie_take(struct mac_cookie *c, const uint8_t public_key[DH_BYTES],
                     const uint8_t init[WIRE_INIT_BYTES], const uint8_t cookie[WIRE_COOKIE_BYTES],
                     uint64_t now)
{
    const uint8_t *sealed = cookie + WIRE_COOKIE_SEALED;
    uint8_t value[WIRE_MAC_BYTES];
    struct aead *a = cookie_cipher(public_key);

    aead_open_begin(a, cookie + WIRE_COOKIE_NONCE, init + WIRE_MAC1_OFF, WIRE_MAC_BYTES);
    aead_open(a, value, sealed, sizeof value);
    bool right = aead_open_end(a, sealed + sizeof value);

    aead_destroy(a);
    if (right) {
        memcpy(c->value, value, sizeof value);
        c->given = true;
        c->at_ns = now;
    }
    return right;
}
