// SPDX-License-Identifier: BSD-3-Clause
// What lib/crypto does where its libraries refuse: the linker puts the functions below in place of
// theirs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <intel-ipsec-mb.h>
#include <openssl/evp.h>

#include "crypto/aead.h"
#include "crypto/dh.h"

IMB_MGR *__real_alloc_mb_mgr(uint64_t flags);
void __real_init_mb_mgr_auto(IMB_MGR *mgr, IMB_ARCH *arch);
int __real_EVP_PKEY_derive_set_peer(EVP_PKEY_CTX *ctx, EVP_PKEY *peer);
int __real_EVP_PKEY_derive(EVP_PKEY_CTX *ctx, unsigned char *key, size_t *len);
IMB_MGR *__wrap_alloc_mb_mgr(uint64_t flags);
void __wrap_init_mb_mgr_auto(IMB_MGR *mgr, IMB_ARCH *arch);
int __wrap_EVP_PKEY_derive_set_peer(EVP_PKEY_CTX *ctx, EVP_PKEY *peer);
int __wrap_EVP_PKEY_derive(EVP_PKEY_CTX *ctx, unsigned char *key, size_t *len);
}

namespace
{

enum class Lack { kNothing, kMemory, kCpu, kAes, kPeer, kSecret };

Lack lack;

} // namespace

IMB_MGR *__wrap_alloc_mb_mgr(uint64_t flags)
{
    return lack == Lack::kMemory ? nullptr : __real_alloc_mb_mgr(flags);
}

void __wrap_init_mb_mgr_auto(IMB_MGR *mgr, IMB_ARCH *arch)
{
    __real_init_mb_mgr_auto(mgr, arch);
    if (lack == Lack::kCpu)
        *arch = IMB_ARCH_NONE;
    if (lack == Lack::kAes)
        mgr->features &= ~static_cast<uint64_t>(IMB_FEATURE_AESNI);
}

int __wrap_EVP_PKEY_derive_set_peer(EVP_PKEY_CTX *ctx, EVP_PKEY *peer)
{
    return lack == Lack::kPeer ? 0 : __real_EVP_PKEY_derive_set_peer(ctx, peer);
}

// A version of libcrypto that gives a secret of 0 instead of refusing it.
int __wrap_EVP_PKEY_derive(EVP_PKEY_CTX *ctx, unsigned char *key, size_t *len)
{
    int rc = __real_EVP_PKEY_derive(ctx, key, len);

    if (lack == Lack::kSecret)
        std::memset(key, 0, *len);
    return rc;
}

namespace
{

// libipsec-mb is looked for once in each process, so this runs in one of its own. Its status is 0
// if libcrypto is used instead.
void fall_back(Lack what)
{
    lack = what;
    std::exit(!aead_has(AEAD_IPSEC_MB) && aead_best() == AEAD_LIBCRYPTO ? 0 : 1);
}

TEST(Lacking, WithoutCodeForTheCpuLibcryptoSeals)
{
    EXPECT_EXIT(fall_back(Lack::kMemory), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fall_back(Lack::kCpu), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(fall_back(Lack::kAes), testing::ExitedWithCode(0), "");
}

TEST(Lacking, ASecretThatIsNoneIsRefused)
{
    const uint8_t one[DH_BYTES] = {1}, two[DH_BYTES] = {2};
    uint8_t public_key[DH_BYTES], shared[DH_BYTES];

    dh_public(two, public_key);
    EXPECT_EQ(dh_shared(one, public_key, shared), 0);
    for (Lack what : {Lack::kPeer, Lack::kSecret}) {
        lack = what;
        EXPECT_EQ(dh_shared(one, public_key, shared), -EINVAL);
        lack = Lack::kNothing;
    }
}

} // namespace
