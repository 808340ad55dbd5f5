/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Black hole detection (RFC 8899, section 4.3; RFC 4821, section 7.7): does the path drop packets
 * for their size? Short packets, CNTL among them, pass such a path, so the peer is not silent.
 *
 * The sender watches the unit that the peer's `ack` waits for. The peer reports how many packet
 * numbers it has received (CNTL `received`). All packets shorter than the watched unit may be among
 * them. If the count grows by more than the number of shorter packets sent, a packet at least as
 * long as the unit has arrived, and the path is no black hole.
 *
 * A round has passed when the peer has seen a CNTL that was sent after long packets: by then these
 * have arrived or are lost. The path counts as a black hole when BLACK_HOLE_ROUNDS rounds and a
 * minimum time have passed, BLACK_HOLE_PACKETS long packets were lost, and none arrived. A path
 * that loses packets at random with probability p is mistaken for a black hole with probability
 * p^BLACK_HOLE_PACKETS at most: 7e-5 at 30 %. The caller chooses the minimum time: a queue that
 * other traffic keeps full of bytes may refuse long packets for a moment.
 *
 * Invariant: judged <= asked <= as_long. Owned by one worker.
 */
#ifndef SLUICE_VT_BLACK_HOLE_H
#define SLUICE_VT_BLACK_HOLE_H

#include <stdbool.h>
#include <stdint.h>

#define BLACK_HOLE_ROUNDS  3u /* RFC 8899, section 5.1.2: MAX_PROBES */
#define BLACK_HOLE_PACKETS 8u

struct vt_black_hole {
    uint64_t ack;              /* the position that is watched */
    uint64_t since_tsc;        /* when the watch began */
    uint32_t len_bytes;        /* of the packet with the unit at `ack`; 0: nothing is watched */
    uint64_t received;         /* the peer's count of packet numbers when the watch began */
    uint64_t as_long, shorter; /* packets since the watch began: len_bytes or longer, and shorter */
    uint64_t asked;            /* `as_long` when vt_black_hole_asked() was last called */
    uint64_t judged;           /* `asked` when the last round passed */
    uint32_t rounds;
};

/* A packet of DATA was sent. */
void vt_black_hole_sent(struct vt_black_hole *h, uint32_t len_bytes);
/* A CNTL was sent whose number the peer will return. */
void vt_black_hole_asked(struct vt_black_hole *h);

/* What a new CNTL of the peer says. */
struct vt_black_hole_report {
    uint64_t ack;
    uint32_t len_bytes; /* of the packet with the unit at `ack`; 0: that unit was not sent yet */
    uint64_t received;  /* the peer's count of packet numbers */
    bool seen;          /* the peer has seen the CNTL of the last vt_black_hole_asked() */
};

/* Takes the news, at `now`. True if the path has dropped all packets of news.len_bytes or more, for
 * min_tsc at least; the watch then starts over. */
bool vt_black_hole_take(struct vt_black_hole *h, const struct vt_black_hole_report *news,
                        uint64_t now, uint64_t min_tsc);
/* Must the sender send a CNTL, so that another round can pass? It sends none by itself while
 * shorter packets bring answers. False in the first min_tsc of a watch: most end before. */
bool vt_black_hole_ask(const struct vt_black_hole *h, uint64_t now, uint64_t min_tsc);

#endif
