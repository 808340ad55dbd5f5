/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host can receive, in user bytes a second: measured while it works, corrected when it was
 * overrun ([XTP-RATE], section 4.3). Packets that a path loses do not count here.
 *
 * A worker that was busy for a share b of its time could do 1 / b times its work. Packets are
 * spread among workers by their connections, so the busiest worker limits all. The host could have
 * received what it did, and more of the same work, sent frames included, in that worker's idle
 * time:
 *
 *   could = received + (received + sent) (1 - b) / b
 *
 * `could` is a lower bound, since larger bursts cost less time a packet. An interval in which no
 * poll that found packets has ended shows nothing: nothing came, or the workers had lost their
 * cores. Packets dropped in it count for the next interval that shows something. Each interval is
 * one of these:
 * - overrun: the port dropped packets because nobody took them. capacity = the larger `could` of
 *   this interval and the one before (a worker that lost its core for a moment is no slower for
 *   that); in the second overrun interval in a row, `could` of this interval. Less is granted until
 *   the backlog is gone.
 * - slower: for two intervals all time was spent on receiving, or nearly all was and most bursts
 *   were full; yet much less was done than the capacity, or than the link carries. This is an
 *   overrun before anything is dropped. capacity = `could`. (A worker that spends its time sending
 *   takes what comes in short bursts.)
 * - saturated: for several intervals all time was spent and nearly all bursts were full.
 *   This counts only if no drop was ever counted (not all ports count drops) or less was done than
 *   the capacity. capacity = the largest `could` of these intervals.
 * - otherwise: if `could` was above the capacity in both of the last two intervals, capacity = the
 *   smaller `could` of the two, or the newest where even the smaller one is far above: a large rise
 *   may have begun within the earlier interval. Else the capacity rises by a step if senders want
 *   more than they are granted, and either all time is spent on small bursts, or the busy time is
 *   unknown. Small bursts would grow under more load, so they do not show how much could be done.
 *
 * The capacity is 0, unknown, until the first overrun or saturation. Computes in integers. Owned by
 * the control lcore.
 */
#ifndef SLUICE_CONTROL_CAPACITY_H
#define SLUICE_CONTROL_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#define CAPACITY_MIN_BPS 125000ull /* 1 Mbit/s: the capacity is never less */
#define CAPACITY_MAX_BPS (1ull << 47)
#define CAPACITY_RECENT  8u

enum capacity_why {
    CAPACITY_UNKNOWN,
    CAPACITY_MEASURED,  /* from the time that work took */
    CAPACITY_OVERRUN,   /* from what was absorbed when packets were dropped */
    CAPACITY_SATURATED, /* from what was absorbed when all time was spent and bursts were full */
    CAPACITY_PROBED,    /* a step above the last value */
};

/* What a host did in one interval. */
struct capacity_sample {
    uint64_t interval_ns;
    uint64_t rx_bytes, tx_bytes; /* user bytes */
    uint64_t overruns;           /* packets that the port dropped for want of room or memory */
    uint64_t busy, time;   /* of the busiest worker, in one unit; 0: unknown. `busy` may include
                            * unfinished work; what exceeds `time` counts for the next
                            * interval */
    uint64_t bursts, full; /* polls that found packets; polls that found a full burst */
    uint64_t link_Bps;     /* the most user bytes that can arrive; 0: unknown */
    bool shared;           /* the worker also runs other ports, whose work is in `busy` */
    bool hungry;           /* a sender would send more than it is granted */
};

struct capacity {
    uint64_t could_Bps[CAPACITY_RECENT]; /* of intervals that showed something; [0]: newest */
    uint64_t ahead, ahead_bytes;         /* time and bytes that count for the next interval */
    uint64_t missed;                     /* overruns that count for the next interval */
    uint32_t saturated, overran;         /* saturated, and overrun, intervals in a row */
    uint32_t slower;                     /* intervals in a row that showed a slower host */
    uint32_t tight;        /* intervals in a row with all time spent on small bursts */
    uint64_t capacity_Bps; /* 0: unknown */
    enum capacity_why why;
    uint32_t drain;    /* intervals left in which a backlog is to drain */
    uint32_t shift;    /* capacity_Bps >> shift is not granted while `drain` > 0 */
    uint32_t hold;     /* intervals left without a step upward */
    uint64_t overruns; /* intervals so far with drops, or with the signs that drops follow */
};

void capacity_init(struct capacity *c);
void capacity_update(struct capacity *c, const struct capacity_sample *s);

/* The sum of grants allowed: a little less than the capacity, and less still while a backlog
 * drains. It is more than the capacity if nothing was ever dropped: such a port makes its senders
 * wait. UINT64_MAX if the capacity is unknown. */
uint64_t capacity_grant(const struct capacity *c);

#endif
