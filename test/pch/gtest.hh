// SPDX-License-Identifier: BSD-3-Clause
#ifndef SLUICE_TEST_PCH_GTEST_HH
#define SLUICE_TEST_PCH_GTEST_HH

// Headers that most tests include, compiled once for each program. A test still includes the
// headers that it needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#endif
