/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of a daemon's ports, and the one at which one daemon can reach another: an address
 * in a network of its own ports, else one behind a gateway.
 */
#ifndef SLUICE_COMMAND_ADDRESS_H
#define SLUICE_COMMAND_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/sluice.h"

#define ADDRESS_LIST_MAX 64
#define ADDRESS_TEXT_MAX 64
#define ADDRESS_BYTES    17 /* as bytes of a message: the address, then the length of its prefix */

struct address {
    uint8_t bytes[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint8_t bits;      /* length of the prefix of its network; of IPv4: 96 more */
    bool gateway;      /* ours: its port has a gateway */
};

struct address_list {
    uint32_t n;
    struct address list[ADDRESS_LIST_MAX];
};

/* Reads "192.0.2.1", "fd00::1" or "192.0.2.1/24". False: it is none. */
bool address_parse(struct address *a, const char *text);
/* "192.0.2.1/24". Returns out. */
const char *address_text(const struct address *a, char out[ADDRESS_TEXT_MAX]);
/* "192.0.2.1/24, fd00::1/64", cut to fit out_len. Returns out. */
const char *address_list_text(const struct address_list *l, char *out, size_t out_len);
/* "192.0.2.1:7000" or "[fd00::1]:7000", for sluice_connect(). */
void address_service(const struct address *a, uint16_t service, char out[ADDRESS_TEXT_MAX]);

/* Reads the bytes of a message. False: the prefix is longer than an address. */
bool address_decode(struct address *a, const uint8_t bytes[ADDRESS_BYTES]);
void address_encode(uint8_t bytes[ADDRESS_BYTES], const struct address *a);

/* Reads what `sluice show ports --json` prints. False: that is not what the text is. */
bool address_list_read(struct address_list *l, const char *json);
/* The addresses of the daemon's ports. Returns an exit code; the error is printed. */
int address_list_get(struct address_list *l, struct sluice *session);

/* Whether both lists have the same addresses: they are those of one daemon. */
bool address_list_equal(const struct address_list *a, const struct address_list *b);
/* The one of `theirs` that a daemon with the addresses `ours` can reach; NULL: none. */
const struct address *address_choose(const struct address_list *ours,
                                     const struct address_list *theirs);

#endif
