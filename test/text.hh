// SPDX-License-Identifier: BSD-3-Clause
// printf() into a string, for short lines: the text is cut after 299 characters.
#ifndef SLUICE_TEST_TEXT_HH
#define SLUICE_TEST_TEXT_HH

#include <cstdarg>
#include <cstdio>
#include <string>

inline std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));
inline std::string text(const char *format, ...)
{
    char buf[300];
    va_list args;

    va_start(args, format);
    std::vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    return buf;
}

#endif
