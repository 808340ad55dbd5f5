// SPDX-License-Identifier: BSD-3-Clause
// A configuration from its text, which must be good.
#ifndef TEST_APP_LOAD_H
#define TEST_APP_LOAD_H

#include <string>

#include <gtest/gtest.h>

#include "file.h"

extern "C" {
#include "sluiced/config/config.h"
}

inline struct config load(const std::string &text)
{
    File f(text);
    struct config c;
    char err[CONFIG_ERROR_MAX] = "";

    EXPECT_EQ(config_load(&c, f.path.c_str(), err, sizeof err), 0) << err;
    return c;
}

#endif
