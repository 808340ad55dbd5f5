/* SPDX-License-Identifier: BSD-3-Clause */
/* The version: of the library, of its header, and of the project are the same one. */
#include <string>

#include <gtest/gtest.h>

#include "client/sluice.h"

TEST(Version, IsThatOfTheProject)
{
    EXPECT_STREQ(sluice_version(), PROJECT_VERSION);
    EXPECT_STREQ(SLUICE_VERSION, PROJECT_VERSION);
    EXPECT_EQ(std::to_string(SLUICE_VERSION_MAJOR) + "." + std::to_string(SLUICE_VERSION_MINOR) +
                  "." + std::to_string(SLUICE_VERSION_PATCH),
              PROJECT_VERSION);
}
