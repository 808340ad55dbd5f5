/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of daemons. See address.h. */
#include "sluice/cp/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/value.h"
#include "sluice/say.h"

#define IPV4_BITS 96 /* before the 32 of an IPv4 address */

static const uint8_t ipv4_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool address_is_ipv4(const struct address *a)
{
    return memcmp(a->bytes, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

bool address_parse(struct address *a, const char *text)
{
    char copy[ADDRESS_TEXT_MAX], *slash;
    uint64_t bits;

    memset(a, 0, sizeof *a);
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    slash = strchr(copy, '/');
    if (slash != NULL)
        *slash = 0;
    if (inet_pton(AF_INET, copy, a->bytes + sizeof ipv4_prefix) == 1)
        memcpy(a->bytes, ipv4_prefix, sizeof ipv4_prefix);
    else if (inet_pton(AF_INET6, copy, a->bytes) != 1)
        return false;
    a->bits = 128;
    if (slash == NULL)
        return true;
    if (value_number(slash + 1, &bits) != NULL || bits > 128)
        return false;
    bits += address_is_ipv4(a) ? IPV4_BITS : 0;
    a->bits = (uint8_t)bits;
    return bits <= 128;
}

static void address_plain(const struct address *a, char out[INET6_ADDRSTRLEN])
{
    if (address_is_ipv4(a))
        inet_ntop(AF_INET, a->bytes + sizeof ipv4_prefix, out, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, a->bytes, out, INET6_ADDRSTRLEN);
}

const char *address_text(const struct address *a, char out[ADDRESS_TEXT_MAX])
{
    char plain[INET6_ADDRSTRLEN];

    address_plain(a, plain);
    snprintf(out, ADDRESS_TEXT_MAX, "%s/%d", plain, a->bits - (address_is_ipv4(a) ? IPV4_BITS : 0));
    return out;
}

const char *address_list_text(const struct address_list *l, char *out, size_t out_len)
{
    char text[ADDRESS_TEXT_MAX];
    size_t len = 0;
    uint32_t i;

    snprintf(out, out_len, "no address");
    for (i = 0; i < l->n && len < out_len; i++)
        len += (size_t)snprintf(out + len, out_len - len, "%s%s", i > 0 ? ", " : "",
                                address_text(&l->list[i], text));
    return out;
}

void address_service(const struct address *a, uint16_t service, char out[ADDRESS_TEXT_MAX])
{
    char plain[INET6_ADDRSTRLEN];

    address_plain(a, plain);
    snprintf(out, ADDRESS_TEXT_MAX, address_is_ipv4(a) ? "%s:%u" : "[%s]:%u", plain, service);
}

bool address_decode(struct address *a, const uint8_t bytes[ADDRESS_BYTES])
{
    memset(a, 0, sizeof *a);
    memcpy(a->bytes, bytes, sizeof a->bytes);
    a->bits = bytes[16];
    return a->bits <= 128 && (!address_is_ipv4(a) || a->bits >= IPV4_BITS);
}

void address_encode(uint8_t bytes[ADDRESS_BYTES], const struct address *a)
{
    memcpy(bytes, a->bytes, sizeof a->bytes);
    bytes[16] = a->bits;
}

static void list_add(struct address_list *l, const json_t *port, const char *key,
                     const char *gateway)
{
    const char *text = json_string_value(json_object_get(port, key));
    struct address a;

    if (text == NULL || l->n == ADDRESS_LIST_MAX || !address_parse(&a, text))
        return;
    a.gateway = json_object_get(port, gateway) != NULL;
    l->list[l->n++] = a;
}

bool address_list_read(struct address_list *l, const char *json)
{
    json_t *root = json_loads(json, 0, NULL), *ports = json_object_get(root, "ports");
    bool right = json_is_array(ports);
    size_t i;

    l->n = 0;
    for (i = 0; i < json_array_size(ports); i++) {
        list_add(l, json_array_get(ports, i), "address", "gateway");
        list_add(l, json_array_get(ports, i), "address6", "gateway6");
    }
    json_decref(root);
    return right;
}

int address_list_get(struct address_list *l, struct sluice *session)
{
    char *json = NULL;
    bool right;
    int err = sluice_show(session, "ports", &json);

    if (err < 0)
        return say_error(say_code(err, false), "%s", sluice_error(session));
    right = address_list_read(l, json);
    free(json);
    if (!right)
        return say_error(SAY_DAEMON, "the daemon describes its ports in a way that is not known "
                                     "here; use sluice and sluiced of the same version");
    return SAY_OK;
}

bool address_list_equal(const struct address_list *a, const struct address_list *b)
{
    uint32_t i;

    for (i = 0; i < a->n && i < b->n; i++) {
        if (memcmp(a->list[i].bytes, b->list[i].bytes, sizeof a->list[i].bytes) != 0 ||
            a->list[i].bits != b->list[i].bits)
            return false;
    }
    return a->n == b->n;
}

/* Whether the first `bits` bits of both are the same. */
static bool address_shares(const struct address *a, const struct address *b, uint32_t bits)
{
    uint32_t bytes = bits / 8;
    uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

    if (memcmp(a->bytes, b->bytes, bytes) != 0)
        return false;
    return bits % 8 == 0 || ((a->bytes[bytes] ^ b->bytes[bytes]) & mask) == 0;
}

static bool address_is_link_local(const struct address *a)
{
    return a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

/* Whether a port with the address `ours` can send to `theirs`. */
static bool address_reaches(const struct address *ours, const struct address *theirs, bool routed)
{
    if (!routed)
        return address_shares(ours, theirs, ours->bits);
    return ours->gateway && address_is_ipv4(ours) == address_is_ipv4(theirs) &&
           !address_is_link_local(theirs);
}

const struct address *address_choose(const struct address_list *ours,
                                     const struct address_list *theirs)
{
    uint32_t i, k;
    int routed;

    for (routed = 0; routed < 2; routed++) {
        for (i = 0; i < theirs->n; i++) {
            for (k = 0; k < ours->n; k++) {
                if (address_reaches(&ours->list[k], &theirs->list[i], routed != 0))
                    return &theirs->list[i];
            }
        }
    }
    return NULL;
}
