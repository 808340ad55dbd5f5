/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A claim to an address of ours: does no other station use it? (RFC 5227 for IPv4, RFC 4862 5.4 for
 * IPv6.)
 *
 *   begun: 3 probes, 100 ms apart -> announced twice, 2 s apart: held
 *     '-- another station answers --> yields -- 10 s without a word of it --> held, announced
 *
 * The claim is optimistic, as RFC 4429 is for IPv6: the address is used from the beginning, so
 * start-up is not delayed. Probes are 100 ms apart, not seconds: on links whose stations poll or
 * are woken by interrupts, an answer takes less than that. If another station has the address,
 * caches of neighbours may be wrong for about a round trip, until that station defends the address.
 *
 * While a claim yields, its address is as good as not configured: no packet is taken for it, no
 * question is answered or asked from it, and no connection begins. The address is probed, and used
 * again once no other station has used it for 10 s. An address that was held once is never given up
 * (RFC 5227 2.4 c): connections depend on it, and a later station has to yield. It is defended by
 * an announcement, at most once in 10 s. Of two stations that probe at the same time, the one with
 * the lower MAC address goes on.
 *
 * Only the first worker of a port sends probes and announcements. All workers hear the same
 * messages (link.c), so all decide the same.
 */
#ifndef SLUICE_HOST_CLAIM_H
#define SLUICE_HOST_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

struct claim {
    bool begun, held;
    uint32_t said;        /* probes and announcements sent since the claim began */
    uint64_t next;        /* when the next probe or announcement is due; TIME_NEVER: none is */
    uint64_t heard_at;    /* when another station last used the address */
    uint64_t defended_at; /* when we last defended the address; 0: never */
    /* written by the worker, read by any thread (base/counter.h) */
    uint64_t yields;    /* 1: the address is not used */
    uint64_t conflicts; /* messages of other stations that use the address */
    uint64_t other;     /* MAC address in the newest conflict; its first byte is bits 40 to 47 */
};

#endif
