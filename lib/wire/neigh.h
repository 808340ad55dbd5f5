/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets by which a host finds others on its link and is found: ARP (RFC 826), neighbour
 * solicitation and advertisement (RFC 4861), and echo for ping (RFC 792, RFC 4443). Bytes -> view,
 * view -> bytes.
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
    NEIGH_NONE,    /* neither request nor reply, or malformed: ignore and count */
    NEIGH_REQUEST, /* where is target? (ARP request, neighbour solicitation) */
    NEIGH_REPLY,   /* target is at mac (ARP reply, neighbour advertisement) */
};

struct neigh {
    enum neigh_kind kind;
    struct addr sender;        /* address of the frame's sender; unset for an address probe */
    struct addr target;        /* REQUEST: the address asked for; REPLY: the owner of mac */
    struct rte_ether_addr mac; /* REQUEST: the sender's; REPLY: the target's */
    bool has_mac;              /* mac is valid: ND may leave its option out */
    bool solicited;            /* REPLY: answers a request, not an announcement to all */
    bool override;             /* REPLY: replaces a known MAC (RFC 4861 7.2.5); ARP always does */
};

/*
 * Parses an ARP frame, or an ICMPv6 neighbour message, of which it checks the rules (hop limit 255,
 * code 0, checksum, options within the message). The frame's frame_len bytes are contiguous at p; f
 * is its parse.
 */
enum neigh_kind neigh_parse(const uint8_t *p, uint32_t frame_len, const struct frame *f,
                            struct neigh *n);

/* Asks where address `target` is: a broadcast ARP request, or a solicitation to the address's
 * solicited-node multicast group. With `sender` unset, the packet probes whether any station has
 * the address (RFC 5227 2.1.1, RFC 4862 5.4.2). Returns the frame's length without FCS, not padded
 * to 60 bytes: ports pad. */
uint16_t neigh_put_request(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                           const struct addr *target, uint16_t vlan);

/* Asks the station at dst_mac, by unicast, whether it still has address `target` (RFC 1122 2.3.2.1,
 * RFC 4861 7.3.3). */
uint16_t neigh_put_poll(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *sender,
                        const struct addr *target, const struct rte_ether_addr *dst_mac,
                        uint16_t vlan);

/* Tells all stations that address `own` is at `mac`: an ARP announcement (RFC 5227 2.3), or an
 * unsolicited advertisement with the override flag (RFC 4861 7.2.6). */
uint16_t neigh_put_announce(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *own,
                            uint16_t vlan);

/* Tells the host dst, at dst_mac, that `target` (our address) is at `mac`. */
uint16_t neigh_put_reply(uint8_t *p, const struct rte_ether_addr *mac, const struct addr *target,
                         const struct rte_ether_addr *dst_mac, const struct addr *dst,
                         uint16_t vlan);

/* The solicited-node multicast MAC of an IPv6 address (RFC 4291 2.7.1, RFC 2464). */
struct rte_ether_addr neigh_multicast_mac(const struct addr *a);

/*
 * Turns an echo request (a frame of frame_len contiguous bytes at p, parsed as f) into its reply,
 * in place: MACs and addresses swapped, type changed, checksum updated, hop limit 64. False if the
 * frame is not a well-formed echo request with a correct checksum.
 */
bool neigh_echo(uint8_t *p, uint32_t frame_len, const struct frame *f,
                const struct rte_ether_addr *mac);

#endif
