/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the two ends of sluice cp, as bytes. */
#ifndef SLUICE_TEST_MESSAGES_H
#define SLUICE_TEST_MESSAGES_H

#include <string>

#include "bytes.hh"

extern "C" {
#include "sluice/cp/message.h"
}

static inline std::string encoded(enum message_type type, const std::string &data)
{
    uint8_t out[MESSAGE_BYTES_MAX];
    const struct message m = {(uint8_t)type, (uint16_t)data.size(), (const uint8_t *)data.data()};

    return std::string((const char *)out, message_encode(out, &m));
}

static inline std::string hex(const std::string &bytes)
{
    return to_hex(Bytes(bytes.begin(), bytes.end()));
}

#endif
