/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host can receive, in user bytes a second: measured while it works, corrected when it was
 * overrun ([XTP-RATE], section 4.3). What a path loses does not count here.
 *
 * A worker that needed a share b of its time for what it did could do 1 / b of that: what was
 * received, and the idle rest turned into more of the same, sent frames included:
 *
 *   could = received + (received + sent) (1 - b) / b
 *
 * That is a lower bound, for larger bursts cost less a packet. An interval in which no poll that
 * received has ended shows nothing: nothing came, or the workers had lost their cores. What the
 * port dropped meanwhile counts for the next interval that shows something. Once an interval:
 * - overrun, packets that the port dropped because nobody took them: capacity = could, now or an
 *   interval ago (a worker that lost its core for a moment is no slower for that), or now, if that
 *   is the second interval with one, and less is granted until the backlog is gone;
 * - slower, all time spent for two intervals, or nearly all and most bursts full, and much less
 *   done than the capacity, or than the link carries: the same, before anything is dropped;
 *   capacity = could;
 * - saturated, all time spent and nearly all bursts full for several intervals, where no drop was
 *   ever counted (not all ports count them) or less was done than the capacity: capacity = the most
 *   that it could in these;
 * - otherwise capacity = max(capacity, could in the last two intervals), and a step more where
 *   senders want more than they are granted, and all time is spent on small bursts: they grow, and
 *   tell nothing of how far that goes; or nothing is known of time.
 *
 * Unknown (0) until the first overrun or saturation. Integers. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_CAPACITY_H
#define SLUICE_CONTROL_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#define CAPACITY_MIN_BPS 125000ull /* 1 Mbit/s: never below */
#define CAPACITY_MAX_BPS (1ull << 47)
#define CAPACITY_RECENT  8u

enum capacity_why {
    CAPACITY_UNKNOWN,
    CAPACITY_MEASURED,  /* by the time that work took */
    CAPACITY_OVERRUN,   /* by what was absorbed when packets were dropped */
    CAPACITY_SATURATED, /* by what was absorbed when all time was spent and bursts were full */
    CAPACITY_PROBED,    /* a step above */
};

/* One interval. */
struct capacity_sample {
    uint64_t interval_ns;
    uint64_t rx_bytes, tx_bytes; /* user bytes */
    uint64_t overruns;           /* packets that the port dropped for want of room or memory */
    uint64_t busy, time;         /* of all workers, in the same unit; 0: not known. What they are
                                  * still at may be in it: more than time counts for the next */
    uint64_t bursts, full;       /* polls that found packets; as many as they could take */
    uint64_t link_Bps;           /* user bytes that can come at most; 0: not known */
    bool hungry;                 /* a sender would send more than it may */
};

struct capacity {
    uint64_t could_Bps[CAPACITY_RECENT]; /* of recent intervals that showed some; [0] the last */
    uint64_t ahead, ahead_bytes;         /* time and bytes that count for the next one */
    uint64_t missed;                     /* overruns that do */
    uint32_t saturated, overran;         /* intervals in a row */
    uint32_t slower;                     /* the same, that could do much less */
    uint32_t tight;                      /* the same, in which all time went into small bursts */
    uint64_t capacity_Bps;               /* 0: unknown */
    enum capacity_why why;
    uint32_t drain;    /* intervals in which a backlog is to go */
    uint32_t shift;    /* a part of the capacity, not granted meanwhile */
    uint32_t hold;     /* intervals without a step upward */
    uint64_t overruns; /* intervals with one, so far */
};

void capacity_init(struct capacity *c);
void capacity_update(struct capacity *c, const struct capacity_sample *s);

/* What may be granted in sum: a little less than the capacity, and less still while a backlog goes;
 * more, where nothing was ever dropped: such a port makes its senders wait. UINT64_MAX where
 * nothing is known. */
uint64_t capacity_grant(const struct capacity *c);

#endif
