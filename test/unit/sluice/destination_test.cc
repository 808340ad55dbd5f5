/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipe as the place of a received file: its reader may come later, or never, or not read. */
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/part_file.h"
#include "sluice/loop.h"
#include "sluice/say.h"
}

static enum record_code stream_open(struct part_file *p, struct destination *d)
{
    struct record offer = {};

    offer.flags = RECORD_SIZE_UNKNOWN;
    return part_file_init(p) < 0 ? RECORD_IO : part_file_open(p, d, "name", &offer);
}

TEST(Destination, APipeWhoseReaderComesLater)
{
    Folder folder;
    std::string got, path = folder.at("pipe");
    struct destination d;

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        got = folder.read("pipe");
    });
    ASSERT_EQ(destination_open(&d, path.c_str(), false), SAY_OK);
    EXPECT_EQ(d.kind, DESTINATION_STREAM);
    const std::string content(1 << 20, 'x'); /* more than a pipe holds */
    struct part_file p;
    ASSERT_EQ(stream_open(&p, &d), RECORD_OK);
    EXPECT_EQ(part_file_write(&p, (const uint8_t *)content.data(), content.size()), RECORD_OK);
    part_file_fini(&p);
    destination_close(&d);
    reader.join();
    EXPECT_TRUE(got == content);
}

/* When its near end has gone, a far end must not wait for a reader. */
TEST(DestinationDeathTest, WhatAsksToStopEndsTheWait)
{
    Folder folder;
    std::string path = folder.at("pipe");

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EXIT(
        {
            struct destination d;

            alarm(10);
            loop_end(129);
            exit(destination_open(&d, path.c_str(), false));
        },
        testing::ExitedWithCode(129), "^$");
}

static void stop(void *fd)
{
    loop_unwatch(*(int *)fd);
    loop_end(129);
}

/* Nor for one that does not read. */
TEST(DestinationDeathTest, WhatAsksToStopEndsTheWaitForRoom)
{
    Folder folder;
    std::string path = folder.at("pipe");

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EXIT(
        {
            const std::string content(1 << 20, 'x');
            struct destination d;
            struct part_file p;
            int near[2];

            alarm(10);
            if (open(path.c_str(), O_RDONLY | O_NONBLOCK) < 0 || pipe(near) < 0 ||
                destination_open(&d, path.c_str(), false) != SAY_OK ||
                stream_open(&p, &d) != RECORD_OK)
                exit(1);
            close(near[1]);
            loop_watch(near[0], stop, &near[0]);
            part_file_write(&p, (const uint8_t *)content.data(), content.size());
            exit(loop_code());
        },
        testing::ExitedWithCode(129), "^$");
}
