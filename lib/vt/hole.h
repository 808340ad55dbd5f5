/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Black hole detection (RFC 8899, section 4.3; RFC 4821, section 7.7): does the path drop packets
 * for their size? Short packets pass then, CNTL among them, so that no silence tells.
 *
 * The sender watches the unit that the peer's `ack` waits for. The peer says how many packet
 * numbers have come (CNTL `received`). Packets shorter than that unit may all be among them; if
 * more have come than were sent of those, one came that was as long, and the path is no hole.
 *
 * A round has passed when the peer has seen a CNTL that was sent behind such packets, so that they
 * have come or are lost. A hole is a path on which HOLE_ROUNDS rounds and some time passed and
 * HOLE_PACKETS packets were lost, and none came. A path that loses packets at random with
 * probability p is taken for one with probability p^HOLE_PACKETS at most: 7e-5 at 30 %. The time is
 * the caller's choice: a queue that others keep full of bytes may refuse long packets for a moment.
 *
 * Invariant: judged <= asked <= as_long. Owned by one worker.
 */
#ifndef SLUICE_VT_HOLE_H
#define SLUICE_VT_HOLE_H

#include <stdbool.h>
#include <stdint.h>

#define HOLE_ROUNDS  3u /* RFC 8899, section 5.1.2: MAX_PROBES */
#define HOLE_PACKETS 8u

struct vt_hole {
    uint64_t ack;              /* the position that is watched, */
    uint64_t since_tsc;        /* since then */
    uint32_t len_bytes;        /* of its unit's packet; 0: nothing is watched */
    uint64_t received;         /* the peer's count when that began */
    uint64_t as_long, shorter; /* packets sent since, of len_bytes or more, and of less */
    uint64_t asked;            /* as_long when the CNTL was sent that the peer has yet to see */
    uint64_t judged;           /* and when the one was that it saw last */
    uint32_t rounds;
};

/* A packet of DATA was sent. */
void vt_hole_sent(struct vt_hole *h, uint32_t len_bytes);
/* A CNTL was sent whose number the peer will return. */
void vt_hole_asked(struct vt_hole *h);

/* What a new CNTL of the peer says. */
struct vt_hole_news {
    uint64_t ack;
    uint32_t len_bytes; /* of the packet with the unit that ack waits for; 0: none was sent */
    uint64_t received;  /* the peer's count of packets */
    bool seen;          /* it has seen the CNTL that was last told to vt_hole_asked() */
};

/* Takes the news, now. True if for min_tsc at least the path has dropped all packets of
 * news.len_bytes; the watch then begins anew. */
bool vt_hole_take(struct vt_hole *h, const struct vt_hole_news *news, uint64_t now,
                  uint64_t min_tsc);

#endif
