/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A claim to an address of ours: is it ours alone? (RFC 5227 for IPv4, RFC 4862 5.4 for IPv6.)
 *
 *   begun: 3 probes, 100 ms apart -> announced twice, 2 s apart: held
 *     '-- another station answers --> yields -- 10 s without a word of it --> held, announced
 *
 * Optimistic, as RFC 4429 is for IPv6: the address is used from the beginning, and the probes are
 * hundreds of milliseconds apart, not seconds: on links whose stations poll or are woken by
 * interrupts an answer takes less than one. So start-up is not delayed, and if there is another
 * station, caches of neighbours may be wrong for about a round trip, until its defence arrives.
 *
 * While it yields, an address is as good as not configured: no packet is taken for it, no question
 * answered or asked from it, no connection begun. It is probed for, and used again once nobody has
 * said it for 10 s. An address that was held once is never given up (RFC 5227 2.4 c): connections
 * depend on it, and a later station has to yield; it is defended by an announcement, at most once
 * in 10 s. Of two stations that probe at the same time the one with the lower MAC address goes on.
 *
 * Only the first worker of a port speaks; all hear the same (link.c), so all decide the same.
 */
#ifndef SLUICE_HOST_CLAIM_H
#define SLUICE_HOST_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

struct claim {
    bool begun, held;
    uint32_t said;        /* probes and announcements since it began */
    uint64_t next;        /* when the next one is due; TIME_NEVER */
    uint64_t heard_at;    /* when another station last used the address */
    uint64_t defended_at; /* when it was last told so; 0: never */
    /* for other threads, base/counter.h */
    uint64_t yields;    /* 1: the address is not used */
    uint64_t conflicts; /* messages of others that use it */
    uint64_t other; /* MAC address in the newest of them, in the order of the wire from bit 40 */
};

#endif
