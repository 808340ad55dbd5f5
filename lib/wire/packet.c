/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all packet types: the common header, names of verdicts and of reasons to end. */
#include "wire/packet.h"

#include "wire/header.h"

_Static_assert(WIRE_CNTL_BYTES <= WIRE_FIRST_BYTES, "an answer would be larger than its FIRST");

enum wire_verdict wire_parse_header(const uint8_t *p, uint32_t len, struct wire_header *h)
{
    return header_parse(p, len, h);
}

const char *wire_verdict_name(enum wire_verdict v)
{
    static const char *const names[WIRE_VERDICTS] = {
        [WIRE_OK] = "ok",
        [WIRE_SHORT] = "short",
        [WIRE_BAD_VERSION] = "bad_version",
        [WIRE_BAD_TYPE] = "bad_type",
        [WIRE_BAD_SECURITY] = "bad_security",
        [WIRE_BAD_FLAGS] = "bad_flags",
        [WIRE_BAD_FIELD] = "bad_field",
        [WIRE_BAD_LENGTH] = "bad_length",
    };

    return (unsigned int)v < WIRE_VERDICTS ? names[v] : "unknown";
}

const char *wire_end_name(enum wire_end e)
{
    static const char *const names[WIRE_ENDS] = {
        [WIRE_END_NONE] = "none",         [WIRE_END_ABORT] = "abort",
        [WIRE_END_NOBODY] = "nobody",     [WIRE_END_SILENCE] = "silence",
        [WIRE_END_PROTOCOL] = "protocol", [WIRE_END_SHUTDOWN] = "shutdown",
    };

    return (unsigned int)e < WIRE_ENDS ? names[e] : "unknown";
}
