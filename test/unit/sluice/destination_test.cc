/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipe as the place of a received file: its reader may come later, or never. */
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/destination.h"
#include "sluice/loop.h"
#include "sluice/say.h"
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
    EXPECT_EQ(fcntl(d.stream_fd, F_GETFL) & O_NONBLOCK, 0); /* a full pipe is waited for */
    EXPECT_EQ(write(d.stream_fd, "text", 4), 4);
    destination_close(&d);
    reader.join();
    EXPECT_EQ(got, "text");
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
