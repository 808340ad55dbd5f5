/* SPDX-License-Identifier: BSD-3-Clause */
/* A far end that a script of the shell plays: what it says, and the command that says it. */
#ifndef SLUICE_TEST_SCRIPT_H
#define SLUICE_TEST_SCRIPT_H

#include <cstdio>
#include <string>

#include "unit/sluice/cp/messages.h"

/* The command with which a script says this, all at once. */
static inline std::string says(const std::string &bytes)
{
    std::string out = "printf '";
    char digits[5];

    for (char c : bytes) {
        snprintf(digits, sizeof digits, "\\%03o", (uint8_t)c);
        out += digits;
    }
    return out + "'; ";
}

/* Some of what it says, as bytes. */
namespace said
{

static inline std::string ends(int code)
{
    return encoded(MESSAGE_END, std::string(1, (char)code));
}

static const std::string hello = encoded(MESSAGE_HELLO, "1");
static const std::string address =
    encoded(MESSAGE_ADDRESS, std::string("\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x5a\0\2\x78", 17));
static const std::string ready = encoded(MESSAGE_READY, std::string("\xc3\x50\1", 3));

} // namespace said

#endif
