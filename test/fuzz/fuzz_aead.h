/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of the fuzz target of sealed packets. Its input: a byte (bits 0 and 1: the cipher;
 * bits 2 to 4: the packet, less 1 an enum aead_packet), a seed of keys, two bytes of a bit to
 * change, the lengths of four pieces, the length of associated data, and what is sealed.
 */
#ifndef SLUICE_TEST_FUZZ_AEAD_H
#define SLUICE_TEST_FUZZ_AEAD_H

#include <stdint.h>

#include "fuzz.h"

enum aead_packet {
    AEAD_PACKET_NONE, /* the cipher alone */
    AEAD_PACKET_FIRST,
    AEAD_PACKET_CNTL,
    AEAD_PACKET_DATA,
};

struct fuzz_aead_counts {
    uint64_t ciphers[3];
    uint64_t packets[4];   /* sealed, by enum aead_packet */
    uint64_t right, wrong; /* opened; refused */
    uint64_t hops;         /* CNTL that were changed where routers may write */
};

extern struct fuzz_aead_counts fuzz_aead_counts;

#endif
