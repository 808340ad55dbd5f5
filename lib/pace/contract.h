/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A traffic contract as a gate (spec/atm.md; ITU-T I.371; RFC 2698 also counts in bytes). PCR is
 * the peak rate, CDVT its tolerance, SCR the sustained rate, MBS the largest burst at the peak
 * rate. Packets that pass conform to GCRA(1 / PCR, CDVT) and, if there is an SCR, to GCRA(1 / SCR,
 * BT + CDVT), where BT = (MBS - unit) * (1 / SCR - 1 / PCR) allows bursts of MBS bytes at the peak
 * rate.
 *
 * GCRA is the generic cell rate algorithm, in virtual scheduling and in bytes. Each of the two has
 * a theoretical arrival time. Values are rounded so that a packet is never early. A packet of any
 * length may go at contract_next(); contract_take() counts it. Tolerances are cut to 2^36 cycles.
 *
 * Written and read by the worker that owns the flow.
 */
#ifndef SLUICE_PACE_CONTRACT_H
#define SLUICE_PACE_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contract_config {
    uint64_t pcr_Bps;    /* peak, > 0, up to 2^48 */
    uint64_t scr_Bps;    /* sustained, up to pcr_Bps; 0: only the peak */
    uint64_t mbs_bytes;  /* burst at the peak rate, up to 2^40; with scr_Bps, at least unit_bytes */
    uint64_t unit_bytes; /* the longest packet, up to 2^20 */
    uint64_t cdvt_ns;    /* tolerance of the peak rate: packets may be so early */
};

/* The state of one flow, 48 bytes. */
struct contract {
    uint64_t peak_tsc, sustained_tsc;           /* theoretical arrival times */
    uint32_t peak_fraction, sustained_fraction; /* of the arrival times, in 2^-32 cycles */
    uint64_t peak_cost;                         /* of a byte, in 2^-32 cycles; 0: no contract */
    uint64_t sustained_cost;                    /* of a byte, in 2^-32 cycles; 0: no SCR */
    uint32_t peak_slack, sustained_slack;       /* tolerances, in units of 16 cycles */
};

/* Returns 0, or -EINVAL with the cause in err. hz: cycles a second of `now`. The flow starts with
 * its full tolerance. */
int contract_init(struct contract *c, const struct contract_config *cfg, uint64_t hz, uint64_t now,
                  char *err, size_t err_len);

/* Lets c, made at now, replace another contract of the same flow. Bytes that were sent ahead of
 * time under the old one stay ahead under c, so the flow does not get its tolerance twice. */
void contract_continue(struct contract *c, const struct contract *old, uint64_t now);

/* The earliest time, not before now, at which a packet conforms. */
uint64_t contract_next(const struct contract *c, uint64_t now);

static inline bool contract_open(const struct contract *c, uint64_t now)
{
    return contract_next(c, now) == now;
}

/* How many packets of len_bytes may go now, one after the other, at most `max`; max * len_bytes is
 * up to 2^20. Without an SCR. contract_take() may count them all at once, by their sum. */
uint32_t contract_count(const struct contract *c, uint64_t now, uint64_t len_bytes, uint32_t max);

/* A packet of len_bytes (up to 2^20) was sent at now; only if contract_open() is true. */
void contract_take(struct contract *c, uint64_t now, uint64_t len_bytes);

#endif
