/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AEAD by libipsec-mb, through its direct interface: one packet at a time, no jobs. An expanded key
 * of AES-GCM has about 1 kB. The IMB_MGR holds nothing but the functions for this CPU, so all keys
 * and threads share one, which is made at the first use and never freed.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>

#include "base/check.h"
#include "crypto/aead_internal.h"
#include "crypto/secret.h"

struct ipsec_mb_aead {
    struct gcm_key_data gcm; /* AES */
    struct gcm_context_data gcm_context;
    struct chacha20_poly1305_context_data chacha_context;
    uint8_t chacha_key[AEAD_KEY_MAX];
    struct aead aead;
    enum aead_cipher cipher;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static IMB_MGR *mgr; /* NULL: libipsec-mb has no code for this CPU */

static void mgr_make(void)
{
    IMB_ARCH arch;

    mgr = alloc_mb_mgr(0);
    if (mgr == NULL)
        return;
    init_mb_mgr_auto(mgr, &arch);
    /* Without instructions for AES, a library of this age computes it from tables, which shows the
     * key in the time that it takes. */
    if (arch == IMB_ARCH_NONE || (mgr->features & IMB_FEATURE_AESNI) == 0) {
        free_mb_mgr(mgr);
        mgr = NULL;
    }
}

bool aead_ipsec_mb_works(void)
{
    CHECK(pthread_once(&once, mgr_make) == 0);
    return mgr != NULL;
}

static struct ipsec_mb_aead *of(struct aead *a)
{
    return (struct ipsec_mb_aead *)((char *)a - offsetof(struct ipsec_mb_aead, aead));
}

static struct aead *create(enum aead_cipher cipher, const uint8_t *key)
{
    struct ipsec_mb_aead *i = aligned_alloc(64, (sizeof *i + 63) / 64 * 64);

    CHECK(i != NULL);
    i->aead.ops = &aead_ipsec_mb;
    i->cipher = cipher;
    if (cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_PRE(mgr, key, &i->gcm);
    else if (cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_PRE(mgr, key, &i->gcm);
    else
        memcpy(i->chacha_key, key, AEAD_KEY_MAX);
    return &i->aead;
}

static void destroy(struct aead *a)
{
    struct ipsec_mb_aead *i = of(a);

    secret_wipe(i, sizeof *i);
    free(i);
}

static void begin(struct aead *a, const uint8_t *nonce, const void *associated, uint32_t len)
{
    struct ipsec_mb_aead *i = of(a);

    if (i->cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_INIT(mgr, &i->gcm, &i->gcm_context, nonce, associated, len);
    else if (i->cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_INIT(mgr, &i->gcm, &i->gcm_context, nonce, associated, len);
    else
        IMB_CHACHA20_POLY1305_INIT(mgr, i->chacha_key, &i->chacha_context, nonce, associated, len);
}

static void seal(struct aead *a, void *out, const void *in, uint32_t len)
{
    struct ipsec_mb_aead *i = of(a);

    if (len == 0) /* in and out may be NULL, which the library refuses */
        return;
    if (i->cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_ENC_UPDATE(mgr, &i->gcm, &i->gcm_context, out, in, len);
    else if (i->cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_ENC_UPDATE(mgr, &i->gcm, &i->gcm_context, out, in, len);
    else
        IMB_CHACHA20_POLY1305_ENC_UPDATE(mgr, i->chacha_key, &i->chacha_context, out, in, len);
}

static void open(struct aead *a, void *out, const void *in, uint32_t len)
{
    struct ipsec_mb_aead *i = of(a);

    if (len == 0)
        return;
    if (i->cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_DEC_UPDATE(mgr, &i->gcm, &i->gcm_context, out, in, len);
    else if (i->cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_DEC_UPDATE(mgr, &i->gcm, &i->gcm_context, out, in, len);
    else
        IMB_CHACHA20_POLY1305_DEC_UPDATE(mgr, i->chacha_key, &i->chacha_context, out, in, len);
}

static void seal_end(struct aead *a, uint8_t *tag)
{
    struct ipsec_mb_aead *i = of(a);

    if (i->cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_ENC_FINALIZE(mgr, &i->gcm, &i->gcm_context, tag, AEAD_TAG_BYTES);
    else if (i->cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_ENC_FINALIZE(mgr, &i->gcm, &i->gcm_context, tag, AEAD_TAG_BYTES);
    else
        IMB_CHACHA20_POLY1305_ENC_FINALIZE(mgr, &i->chacha_context, tag, AEAD_TAG_BYTES);
}

static bool open_end(struct aead *a, const uint8_t *tag)
{
    struct ipsec_mb_aead *i = of(a);
    uint8_t right[AEAD_TAG_BYTES];

    if (i->cipher == AEAD_AES_128_GCM)
        IMB_AES128_GCM_DEC_FINALIZE(mgr, &i->gcm, &i->gcm_context, right, sizeof right);
    else if (i->cipher == AEAD_AES_256_GCM)
        IMB_AES256_GCM_DEC_FINALIZE(mgr, &i->gcm, &i->gcm_context, right, sizeof right);
    else
        IMB_CHACHA20_POLY1305_DEC_FINALIZE(mgr, &i->chacha_context, right, sizeof right);
    return secret_equal(tag, right, sizeof right);
}

const struct aead_ops aead_ipsec_mb = {
    .create = create,
    .destroy = destroy,
    .seal_begin = begin,
    .seal = seal,
    .seal_end = seal_end,
    .open_begin = begin,
    .open = open,
    .open_end = open_end,
};
