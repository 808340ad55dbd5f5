/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of functions are those of the framework's section 5: mix_key() and mix_hash() change
 * the state as MixKey() and MixHash() do.
 */
#include "crypto/noise.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "crypto/secret.h"

static const char PROTOCOL[] = "Noise_IKpsk2_25519_AESGCM_SHA256";

_Static_assert(sizeof PROTOCOL - 1 == HASH_BYTES, "the name is the first hash, unhashed");

static void mix_hash(struct noise *n, const void *data, uint32_t len)
{
    hash_two(n->hash, HASH_BYTES, data, len, n->hash);
}

static void mix_key(struct noise *n, const uint8_t *data, uint32_t len)
{
    hash_hkdf(n->chain, data, len, (uint8_t *[]){n->chain, n->key}, 2);
    n->count = 0;
}

/* MixKeyAndHash(), for the key that both share. */
static void mix_psk(struct noise *n, const uint8_t psk[NOISE_KEY_BYTES])
{
    uint8_t hash[HASH_BYTES];

    hash_hkdf(n->chain, psk, NOISE_KEY_BYTES, (uint8_t *[]){n->chain, hash, n->key}, 3);
    n->count = 0;
    mix_hash(n, hash, sizeof hash);
    secret_wipe(hash, sizeof hash);
}

/* Mixes in what the owners of the two keys share. */
static int mix_dh(struct noise *n, const uint8_t *private_key, const uint8_t *public_key)
{
    uint8_t shared[DH_BYTES];
    int rc = dh_shared(private_key, public_key, shared);

    if (rc == 0)
        mix_key(n, shared, sizeof shared);
    secret_wipe(shared, sizeof shared);
    return rc;
}

/* A public key in the clear. With a shared key in the pattern, it is mixed into the key, too
 * (section 9.2). */
static void mix_ephemeral(struct noise *n, const uint8_t public_key[DH_BYTES])
{
    mix_hash(n, public_key, DH_BYTES);
    mix_key(n, public_key, DH_BYTES);
}

/* The cipher for the next part, and its nonce: 4 bytes of 0, then the count, big-endian. */
static struct aead *part_cipher(struct noise *n, uint8_t nonce[AEAD_NONCE_BYTES])
{
    uint64_t count = n->count++;

    memset(nonce, 0, AEAD_NONCE_BYTES);
    for (uint32_t i = 0; i < sizeof count; i++)
        nonce[AEAD_NONCE_BYTES - 1 - i] = (uint8_t)(count >> 8 * i);
    return aead_create(AEAD_LIBCRYPTO, AEAD_AES_256_GCM, n->key);
}

/* EncryptAndHash(): writes len + AEAD_TAG_BYTES bytes. */
static void part_seal(struct noise *n, const void *in, uint32_t len, uint8_t *out)
{
    uint8_t nonce[AEAD_NONCE_BYTES];
    struct aead *a = part_cipher(n, nonce);

    aead_seal_begin(a, nonce, n->hash, HASH_BYTES);
    aead_seal(a, out, in, len);
    aead_seal_end(a, out + len);
    aead_destroy(a);
    mix_hash(n, out, len + AEAD_TAG_BYTES);
}

/* DecryptAndHash(): reads len + AEAD_TAG_BYTES bytes. */
static int part_open(struct noise *n, const uint8_t *in, uint32_t len, void *out)
{
    uint8_t nonce[AEAD_NONCE_BYTES];
    struct aead *a = part_cipher(n, nonce);

    aead_open_begin(a, nonce, n->hash, HASH_BYTES);
    aead_open(a, out, in, len);
    bool right = aead_open_end(a, in + len);

    aead_destroy(a);
    if (!right) {
        secret_wipe(out, len);
        return -EBADMSG;
    }
    mix_hash(n, in, len + AEAD_TAG_BYTES);
    return 0;
}

static void begin(struct noise *n, const struct noise_self *self, const uint8_t *responder,
                  const char *prologue)
{
    *n = (struct noise){.self = self};
    memcpy(n->hash, PROTOCOL, HASH_BYTES);
    memcpy(n->chain, PROTOCOL, HASH_BYTES);
    mix_hash(n, prologue, (uint32_t)strlen(prologue));
    mix_hash(n, responder, DH_BYTES);
}

/* Split(). The first key is for what the initiator sends. */
static void keys_split(struct noise *n, bool initiator, struct noise_keys *keys)
{
    uint8_t *ours = initiator ? keys->seal : keys->open;
    uint8_t *peers = initiator ? keys->open : keys->seal;

    hash_hkdf(n->chain, NULL, 0, (uint8_t *[]){ours, peers}, 2);
}

void noise_wipe(struct noise *n)
{
    secret_wipe(n, sizeof *n);
}

static int failed(struct noise *n, int rc)
{
    noise_wipe(n);
    return rc;
}

int noise_init_write(struct noise *n, const struct noise_self *self,
                     const uint8_t peer_public[DH_BYTES], const uint8_t ephemeral[DH_BYTES],
                     const char *prologue, const void *payload, uint32_t len, uint8_t *out)
{
    begin(n, self, peer_public, prologue);
    memcpy(n->peer_public, peer_public, DH_BYTES);
    memcpy(n->ephemeral, ephemeral, DH_BYTES);
    dh_public(ephemeral, out);
    mix_ephemeral(n, out);
    out += DH_BYTES;
    if (mix_dh(n, n->ephemeral, n->peer_public) != 0)
        return failed(n, -EINVAL);
    part_seal(n, self->public_key, DH_BYTES, out);
    out += DH_BYTES + AEAD_TAG_BYTES;
    if (mix_dh(n, self->private_key, n->peer_public) != 0)
        return failed(n, -EINVAL);
    part_seal(n, payload, len, out);
    return 0;
}

int noise_init_read(struct noise *n, const struct noise_self *self, const char *prologue,
                    const uint8_t *in, uint32_t len, void *payload)
{
    begin(n, self, self->public_key, prologue);
    memcpy(n->peer_ephemeral, in, DH_BYTES);
    mix_ephemeral(n, in);
    in += DH_BYTES;
    if (mix_dh(n, self->private_key, n->peer_ephemeral) != 0 ||
        part_open(n, in, DH_BYTES, n->peer_public) != 0)
        return failed(n, -EBADMSG);
    in += DH_BYTES + AEAD_TAG_BYTES;
    if (mix_dh(n, self->private_key, n->peer_public) != 0 || part_open(n, in, len, payload) != 0)
        return failed(n, -EBADMSG);
    return 0;
}

int noise_response_write(struct noise *n, const uint8_t psk[NOISE_KEY_BYTES],
                         const uint8_t ephemeral[DH_BYTES], const void *payload, uint32_t len,
                         uint8_t *out, struct noise_keys *keys)
{
    dh_public(ephemeral, out);
    mix_ephemeral(n, out);
    out += DH_BYTES;
    if (mix_dh(n, ephemeral, n->peer_ephemeral) != 0 || mix_dh(n, ephemeral, n->peer_public) != 0)
        return failed(n, -EBADMSG);
    mix_psk(n, psk);
    part_seal(n, payload, len, out);
    keys_split(n, false, keys);
    noise_wipe(n);
    return 0;
}

int noise_response_read(struct noise *n, const uint8_t psk[NOISE_KEY_BYTES], const uint8_t *in,
                        uint32_t len, void *payload, struct noise_keys *keys)
{
    struct noise next = *n;
    int rc = -EBADMSG;

    memcpy(next.peer_ephemeral, in, DH_BYTES);
    mix_ephemeral(&next, in);
    in += DH_BYTES;
    if (mix_dh(&next, next.ephemeral, next.peer_ephemeral) == 0 &&
        mix_dh(&next, next.self->private_key, next.peer_ephemeral) == 0) {
        mix_psk(&next, psk);
        rc = part_open(&next, in, len, payload);
    }
    if (rc == 0) {
        keys_split(&next, true, keys);
        noise_wipe(n);
    }
    noise_wipe(&next);
    return rc;
}
