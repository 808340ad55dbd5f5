/* SPDX-License-Identifier: BSD-3-Clause */
/* Client memory: the quota, the descriptors that are refused, and the seals on a registered one. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static const uint64_t mib = 1 << 20;

class MemoryTest : public DaemonTest
{
  protected:
    void expect_refused(RawClient &c, int fd, uint64_t len, int status, const char *text)
    {
        struct protocol_reply a = c.region(fd, len);

        EXPECT_EQ(a.status, status) << a.text;
        EXPECT_NE(strstr(a.text, text), nullptr) << a.text;
        EXPECT_EQ(a.type, PROTOCOL_REGION);
        if (fd >= 0)
            close(fd);
    }

    static uint64_t used(RawClient &c)
    {
        return c.ask(PROTOCOL_HELLO).u.limits.used_bytes;
    }
};

TEST_F(MemoryTest, QuotaIsHeldAndReturned)
{
    config.quota_bytes = 64 * mib;
    start();
    struct sluice *s = open();
    std::vector<void *> all;
    void *m;

    errno = 0;
    while ((m = sluice_alloc(s, 4 * mib)) != nullptr)
        all.push_back(m);
    EXPECT_EQ(errno, EDQUOT);
    EXPECT_NE(strstr(sluice_error(s), "quota"), nullptr) << sluice_error(s);
    EXPECT_GE(all.size(), 13u); /* the session itself counts, too */
    EXPECT_LE(all.size(), 15u);
    EXPECT_LE(fake_daemon_mapped_bytes(daemon), 64 * mib);
    /* A second session of the same user shares the quota. */
    struct sluice *other = nullptr;
    char err[300] = "";
    if (sluice_open(&other, path.c_str(), err, sizeof err) == 0) {
        EXPECT_EQ(sluice_alloc(other, 4 * mib), nullptr);
    } else {
        EXPECT_NE(strstr(err, "quota"), nullptr) << err;
    }
    sluice_close(other);
    EXPECT_EQ(sluice_free(s, all[0]), 0);
    EXPECT_NE(sluice_alloc(s, 4 * mib), nullptr) << sluice_error(s);
    sluice_close(s);
    /* Closing waits until all memory is given back. */
    s = open();
    EXPECT_EQ(fake_daemon_mapped_bytes(daemon), 0u);
    EXPECT_NE(sluice_alloc(s, 32 * mib), nullptr) << sluice_error(s);
    sluice_close(s);
}

TEST_F(MemoryTest, AllocationsAreZeroedAlignedAndDistinct)
{
    start();
    struct sluice *s = open();
    std::vector<uint8_t *> all;

    for (uint64_t len : {1ull, 4096ull, 4097ull, 3ull << 20}) {
        auto *m = static_cast<uint8_t *>(sluice_alloc(s, len));

        ASSERT_NE(m, nullptr) << sluice_error(s);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(m) % 4096, 0u);
        for (uint64_t i = 0; i < len; i++)
            ASSERT_EQ(m[i], 0);
        memset(m, 1, len);
        all.push_back(m);
    }
    EXPECT_EQ(sluice_alloc(s, 0), nullptr);
    EXPECT_EQ(sluice_free(s, all[1] + 1), -EINVAL);
    EXPECT_EQ(sluice_free(s, &s), -EINVAL);
    EXPECT_EQ(sluice_free(s, nullptr), 0);
    for (auto *m : all)
        EXPECT_EQ(sluice_free(s, m), 0);
    EXPECT_EQ(sluice_free(s, all[0]), -EINVAL);
    EXPECT_EQ(fake_daemon_mapped_bytes(daemon), 0u);
    sluice_close(s);
}

TEST_F(MemoryTest, WhatIsNoSealableMemfdIsRefused)
{
    int pipes[2], fd;
    char name[] = "/dev/shm/sluice-test-XXXXXX";

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    uint64_t before = used(c);
    expect_refused(c, -1, mib, -EBADF, "no descriptor");
    ASSERT_EQ(pipe(pipes), 0);
    close(pipes[1]);
    expect_refused(c, pipes[0], mib, -EBADF, "not a memfd");
    expect_refused(c, ::open("/dev/zero", O_RDWR), mib, -EBADF, "not a memfd");
    fd = mkstemp(name);
    unlink(name);
    ASSERT_EQ(ftruncate(fd, mib), 0);
    expect_refused(c, fd, mib, -EPERM, "MFD_ALLOW_SEALING");
    expect_refused(c, raw_memfd(mib, MFD_CLOEXEC), mib, -EPERM, "MFD_ALLOW_SEALING");
    expect_refused(c, raw_memfd(mib - 4096, MFD_ALLOW_SEALING), mib, -EINVAL, "announced");
    expect_refused(c, raw_memfd(mib + 4096, MFD_ALLOW_SEALING), mib, -EINVAL, "announced");
    expect_refused(c, raw_memfd(mib + 1, MFD_ALLOW_SEALING), mib + 1, -EINVAL, "whole pages");
    expect_refused(c, raw_memfd(0, MFD_ALLOW_SEALING), 0, -EINVAL, "whole pages");
    expect_refused(c, raw_memfd(mib, MFD_ALLOW_SEALING), UINT64_MAX & ~4095ull, -EINVAL, "many");
    fd = raw_memfd(mib, MFD_ALLOW_SEALING);
    ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    expect_refused(c, fd, mib, -EPERM, "sealed");
    fd = raw_memfd(mib, MFD_ALLOW_SEALING);
    int reader = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY);
    ASSERT_GE(reader, 0);
    expect_refused(c, reader, mib, -EACCES, "cannot map");
    close(fd);
    EXPECT_EQ(used(c), before) << "refused memory costs nothing";
    EXPECT_EQ(fake_daemon_mapped_bytes(daemon), 0u);
}

TEST_F(MemoryTest, AfterwardsNobodyCanTakePagesAway)
{
    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    int fd = raw_memfd(mib, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    auto *m = static_cast<uint8_t *>(mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    struct protocol_reply a = c.region(fd, mib);
    ASSERT_EQ(a.status, 0) << a.text;
    struct stat st;
    ASSERT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_blocks * 512, static_cast<blkcnt_t>(mib)) << "the daemon has faulted it in";
    for (int f : {fd, c.session_fd}) {
        EXPECT_EQ(fcntl(f, F_GET_SEALS) & 0x1f,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_FUTURE_WRITE);
        EXPECT_NE(ftruncate(f, 0), 0);
        EXPECT_NE(ftruncate(f, 1 << 30), 0);
        EXPECT_NE(fallocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
        EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0), MAP_FAILED);
    }
    EXPECT_NE(madvise(m, mib, MADV_REMOVE), 0);
    m[5] = 5; /* the mapping of the client still works */
    /* The same memory cannot be registered twice. */
    expect_refused(c, fd, mib, -EPERM, "already");
    munmap(m, mib);
}

TEST_F(MemoryTest, RegionsHaveALimitAndIdsAreReused)
{
    struct protocol_request q = {};
    std::vector<uint32_t> ids;
    struct protocol_reply a;

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    for (;;) {
        int fd = raw_memfd(4096, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        a = c.region(fd, 4096);
        close(fd);
        if (a.status != 0)
            break;
        ids.push_back(a.u.region_id);
    }
    EXPECT_EQ(a.status, -ENOSPC);
    EXPECT_EQ(ids.size(), static_cast<size_t>(PROTOCOL_REGIONS_MAX));
    q.type = PROTOCOL_UNREGION;
    q.u.region_id = ids[7];
    EXPECT_EQ(c.ask(q).status, 0);
    EXPECT_EQ(c.ask(q).status, -EINVAL);
    q.u.region_id = PROTOCOL_REGIONS_MAX;
    EXPECT_EQ(c.ask(q).status, -EINVAL);
    int fd = raw_memfd(4096, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    a = c.region(fd, 4096);
    close(fd);
    EXPECT_EQ(a.status, 0);
    EXPECT_EQ(a.u.region_id, ids[7]);
}
