/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of what its grants allow a sender has used: the receiver's counterpart of pace/credit.h,
 * as usage parameter control is a network's in ATM. What exceeds it was sent by a cheater, and is
 * dropped.
 *
 * Let r(t) be the rate in force at the sender, b the longest burst in a window, and u the longest
 * unit. The credit rule sends at most  integral of r over W + 2 b + u  in any window W. The path
 * delays each packet by at most S: a packet that takes longer than the limit of silence is not
 * waited for. So what comes in a window W from t on was sent in W or in S before it, and is at most
 *
 *   integral of R over W  +  S R_S(t) + 2 B + u
 *
 * bytes, where R(t) >= r(t), R_S(t) >= r from t - S to t, and B >= b. That is a bucket
 * which fills with R and holds S R_S + 2 B + u. It is right if packets come late, early, in bursts
 * or out of order, so no honest packet is dropped. A cheater gains what S carries, once.
 *
 * Bounds of r: each CNTL has a number, and the peer names the newest one that it had seen. At any
 * time it obeys that one or a later one. So R is the highest grant since a CNTL that the peer has
 * shown to have seen (`soon`). What is sent under older grants may still come for S (`late`). A
 * peer that shows nothing for 2 S has seen no CNTL for that long; an honest one has given up the
 * connection by then, unless its own limit of silence is longer than ours: on a path that loses all
 * CNTL for so long, it then loses what an older, higher grant let it send.
 *
 * A sender that does not know its first grant yet may send `first` bytes more. Clocks may differ by
 * 1/1024. Times are in cycles. Owned by one worker.
 */
#ifndef SLUICE_PACE_USAGE_H
#define SLUICE_PACE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Upper bounds of several grants. */
struct usage_grants {
    uint64_t rate_Bps, burst_bytes;
    bool unlimited; /* one of them was without limit */
};

/* The grants since some CNTL. When the peer is known to have seen the CNTL `mark`, those before it
 * are forgotten. */
struct usage_window {
    struct usage_grants older, newer; /* before mark; of mark and later ones */
    uint32_t mark;                    /* number of a CNTL; 0: none was sent */
    uint64_t mark_at;                 /* when it became the mark */
};

struct usage {
    uint64_t hz;
    uint64_t late_tsc;    /* S */
    uint64_t unit_bytes;  /* u */
    uint64_t first_bytes; /* what may have been sent before the first grant was known */
    uint64_t left_bytes;  /* may come at once, as of `at`; UINT64_MAX: without limit */
    uint64_t part;        /* of the next byte, in 1/hz */
    uint64_t at;          /* when left_bytes was last computed */
    struct usage_window soon, late;
    struct usage_grants newest;
    uint32_t newest_seq; /* CNTL that last carried `newest` */
    uint32_t turned_seq; /* the last one that forgot older grants; seen again, it is no news */
    uint64_t seen_at;    /* when the peer showed that it has seen late.mark; 0: not yet */
};

/* first_bytes: what the sender may send before it knows its first grant. */
void usage_init(struct usage *a, uint64_t hz, uint64_t late_tsc, uint64_t unit_bytes,
                uint64_t first_bytes, uint64_t now);
/* CNTL number seq grants this. burst_bytes 0: no limit. */
void usage_advertise(struct usage *a, uint32_t seq, uint64_t rate_Bps, uint64_t burst_bytes,
                     uint64_t now);
void usage_fill(struct usage *a, uint64_t now);
void usage_turn(struct usage *a, uint32_t seq, uint64_t now);

/* The peer has shown that it has seen CNTL number seq. */
static inline void usage_seen(struct usage *a, uint32_t seq, uint64_t now)
{
    if (a->soon.mark != 0 && (int32_t)(seq - a->soon.mark) >= 0 && seq != a->turned_seq)
        usage_turn(a, seq, now);
}

/* May a unit of so many bytes have been sent? */
static inline bool usage_holds(struct usage *a, uint64_t bytes, uint64_t now)
{
    if (a->left_bytes < bytes)
        usage_fill(a, now);
    return a->left_bytes >= bytes;
}

/* A unit came for which usage_holds() was true. */
static inline void usage_take(struct usage *a, uint64_t bytes)
{
    a->left_bytes -= bytes;
}

#endif
