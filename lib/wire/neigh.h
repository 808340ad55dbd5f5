/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host must say on its link to be found: ARP (RFC 826), neighbour solicitation and
 * advertisement (RFC 4861), and echo for ping (RFC 792, RFC 4443). Bytes -> view, view -> bytes.
 */
#ifndef SLUICE_WIRE_NEIGH_H
#define SLUICE_WIRE_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "wire/addr.h"
#include "wire/frame.h"

#define NEIGH_FRAME_MAX 128 /* bytes the builders below may write */

enum neigh_kind {
    NEIGH_NONE,    /* not one of these, or malformed: ignore and count */
    NEIGH_REQUEST, /* where is target? (ARP request, neighbour solicitation) */
    NEIGH_REPLY,   /* target is at mac (ARP reply, neighbour advertisement) */
};

struct neigh {
    enum neigh_kind kind;
    struct addr sender;        /* the speaker; unset for an address probe */
    struct addr target;        /* REQUEST: what is looked for; REPLY: the owner of mac */
    struct rte_ether_addr mac; /* the speaker's (REQUEST) or the target's (REPLY) */
    bool has_mac;              /* ND may leave the option out */
    bool solicited;            /* REPLY: sent to the asker alone, not to all */
    bool override;             /* REPLY: replaces what is known (RFC 4861 7.2.5); ARP always does */
};

/*
 * Reads an ARP frame, or an ICMPv6 neighbour message with its rules checked (hop limit 255, code 0,
 * checksum, options within the message). frame_len bytes stand contiguous at p; f is its parse.
 */
enum neigh_kind neigh_parse(const uint8_t *p, uint32_t frame_len, const struct frame *f,
                            struct neigh *n);

/* Where is target? Broadcast ARP, or a solicitation to its solicited-node multicast group. With
 * sender unset it is a probe whether anybody has it (RFC 5227 2.1.1, RFC 4862 5.4.2).
 * Returns the frame's length (>= 60 without FCS is not padded: ports pad). */
uint16_t neigh_put_request(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                           const struct addr *target, uint16_t vlan);

/* Has the station at dst_mac still target? Asked of that station alone (RFC 1122 2.3.2.1, RFC 4861
 * 7.3.3). */
uint16_t neigh_put_poll(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                        const struct addr *target, const struct rte_ether_addr *dst_mac,
                        uint16_t vlan);

/* own is at mac, said to everybody: an ARP announcement (RFC 5227 2.3), or an unsolicited
 * advertisement with the override flag (RFC 4861 7.2.6). */
uint16_t neigh_put_announce(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *own,
                            uint16_t vlan);

/* target (ours) is at mac, said to dst at dst_mac. */
uint16_t neigh_put_reply(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *target,
                         const struct rte_ether_addr *dst_mac, const struct addr *dst,
                         uint16_t vlan);

/* The solicited-node multicast MAC of an IPv6 address (RFC 4291 2.7.1, RFC 2464). */
struct rte_ether_addr neigh_multicast_mac(const struct addr *a);

/*
 * Turns an echo request (frame of frame_len contiguous bytes at p, parsed as f) into its reply in
 * place: MACs and addresses swapped, type changed, checksum right, hop limit 64. False if it is not
 * a well-formed echo request with a right checksum.
 */
bool neigh_echo(uint8_t *p, uint32_t frame_len, const struct frame *f,
                const struct rte_ether_addr *mac);

#endif
