/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of pieces that threads read and write. They are skipped where there is one processor. */
#ifndef SLUICE_TEST_STORAGE_FIXTURE_H
#define SLUICE_TEST_STORAGE_FIXTURE_H

#include <poll.h>

#include <gtest/gtest.h>

extern "C" {
#include "sluice/storage/storage.h"
}

/* Waits for pieces that are done. Whether there are any; if not, the test has failed. */
static inline bool storage_wait(struct storage *storage)
{
    struct pollfd p = {.fd = storage_fd(storage), .events = POLLIN, .revents = 0};

    EXPECT_EQ(poll(&p, 1, 60000), 1);
    return (p.revents & POLLIN) != 0;
}

class WithStorage : public testing::Test
{
  protected:
    explicit WithStorage(unsigned int max_files) : max_files(max_files)
    {
    }
    void SetUp() override
    {
        storage = storage_create(max_files, true);
        if (storage == nullptr)
            GTEST_SKIP() << "one processor";
    }
    void TearDown() override
    {
        storage_destroy(storage);
    }
    const unsigned int max_files;
    struct storage *storage = nullptr;
};

#endif
