/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XTP's credit rule (spec "XTP rate control", rules 1-5), evaluated lazily in closed form.
 *
 * - Every RTIMER = burst / rate seconds: credit <= 0: credit += burst; credit > 0: credit = burst.
 * - A packet may go while credit > 0 and takes its user bytes (credit may then be <= 0).
 * - burst = 0: no limit, whatever the rate. rate = 0 (and burst > 0): no DATA at all.
 * - New values: credit = min(credit, burst). What was earned of the next burst stays earned: RTIMER
 * fires when the rest of the new burst is, at the new rate. So values that change more often than
 * RTIMER fires neither starve the sender nor let it send more than the larger of them would.
 *
 * RTIMER runs only while rate > 0 and burst > 0. At rate 0 credit stands still; the rate that ends
 * this starts RTIMER at that moment, and what credit was left may go at once. At burst 0 credit is
 * not taken and stays <= 0; the burst that ends this starts without credit, one RTIMER before the
 * first packet.
 *
 * Envelope, for any window W: bytes <= rate * W + 2 * burst + one packet, where W counts whole
 * cycles including both ends (a refresh takes effect in the cycle in which it falls).
 *
 * RTIMER is kept as an integer of cycles plus a remainder (burst * hz mod rate), carried from
 * period to period, so the long-run rate is exact (error < 1 ppm over any 10^6 periods, in fact
 * bounded by one cycle in total). Updating over n elapsed periods is O(1) for any n.
 *
 * rate_Bps: user bytes per second, 0 .. 2^48; burst_bytes: 0 .. 2^40 (larger is clamped).
 * Written and read by the worker that owns the connection.
 */
#ifndef SLUICE_PACE_CREDIT_H
#define SLUICE_PACE_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define CREDIT_RATE_MAX_BPS    (1ull << 48)
#define CREDIT_BURST_MAX_BYTES (1ull << 40)

struct credit {
    uint64_t hz;          /* cycles per second of `now` */
    uint64_t rate_Bps;    /* as granted */
    uint64_t burst_bytes; /* as granted */
    int64_t credit_bytes; /* may be <= 0 */
    uint64_t refresh_tsc; /* when RTIMER fires next; TIME_NEVER while it does not run */
    uint64_t fraction;    /* carried remainder, in units of 1/rate cycles, < rate */
    uint64_t period_tsc;  /* floor(burst * hz / rate), at most 2^62: as good as never */
    uint64_t period_rem;  /* burst * hz mod rate */
};

/* Starts with one full burst of credit and RTIMER running from now. hz > 0. */
void credit_init(struct credit *c, uint64_t hz, uint64_t rate_Bps, uint64_t burst_bytes,
                 uint64_t now);

/* Replaces rate and burst (rule 4). Unchanged values change nothing. */
void credit_set(struct credit *c, uint64_t rate_Bps, uint64_t burst_bytes, uint64_t now);

/*
 * Applies every refresh due at or before now; O(1). The k-th after RTIMER's start is at exactly
 * start + floor(k * burst * hz / rate). An earlier now than before changes nothing. Called by
 * credit_set, credit_open and credit_next.
 */
void credit_update(struct credit *c, uint64_t now);

/* May a packet go now (rule 1)? Updates first. */
bool credit_open(struct credit *c, uint64_t now);

/* A packet with this many user bytes (< 2^32) was sent; only after credit_open() said yes. */
void credit_take(struct credit *c, uint64_t len_bytes);

/*
 * When may the next packet go: now if the gate is open, TIME_NEVER at rate 0, else the first
 * refresh after which credit > 0 (several periods if credit is deep below zero).
 */
uint64_t credit_next(struct credit *c, uint64_t now);

#endif
