/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explicit congestion notification (RFC 3168) of one connection.
 *
 * A sender marks DATA as ECT(0), so that a router whose queue grows marks them CE and does not drop
 * them. Units that are sent again, CNTL and FIRST are not ECN-capable, as RFC 3168 requires for
 * TCP's retransmissions and acknowledgements.
 *
 * A receiver counts DATA packets by their code point. Its CNTL say how many had ECT and CE. Its
 * path control (control/pathrate.h) slows the sender down for CE.
 *
 *   TESTING -(the peer reports ECT or CE)-> CAPABLE
 *   TESTING -(it reports ECN_TEST_PACKETS received or lost, but no ECT or CE)-> OFF
 *
 * OFF is for paths that erase the ECN field, where ECN is of no use, and for paths that drop
 * packets that carry it: there units arrive only when they are sent again (RFC 9000,
 * section 13.4.2). Owned by the connection's worker.
 */
#ifndef SLUICE_VT_ECN_H
#define SLUICE_VT_ECN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"
#include "wire/packet.h"

#define ECN_TEST_PACKETS 10u /* RFC 9000, appendix A.4 */

enum ecn_state { ECN_TESTING, ECN_CAPABLE, ECN_OFF };

struct ecn {
    enum ecn_state state; /* of what we send */
    uint32_t ect, ce; /* packets received with ECT(0) or ECT(1); with CE. They wrap, as in CNTL */
};

/* The code point of a DATA packet with these flags (enum wire_flag). */
static inline uint8_t ecn_of(const struct ecn *e, uint8_t flags)
{
    return e->state == ECN_OFF || (flags & WIRE_REPEAT) ? FRAME_ECN_NOT : FRAME_ECN_ECT0;
}

/* Counts a DATA packet received with this code point. True if a router had marked it. */
static inline bool ecn_count(struct ecn *e, uint8_t code)
{
    e->ce += code == FRAME_ECN_CE;
    e->ect += code == FRAME_ECN_ECT0 || code == FRAME_ECN_ECT1;
    return code == FRAME_ECN_CE;
}

/* Takes what the peer reports of our packets. True if they are sent without ECN from now on. */
static inline bool ecn_validate(struct ecn *e, const struct wire_cntl *v)
{
    if (e->state != ECN_TESTING)
        return false;
    if (v->ecn_ect != 0 || v->ecn_ce != 0)
        e->state = ECN_CAPABLE;
    else if (v->received + v->lost >= ECN_TEST_PACKETS)
        e->state = ECN_OFF;
    return e->state == ECN_OFF;
}

#endif
