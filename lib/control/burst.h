/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many packets a host can take back to back ([XTP-RATE], section 4: burst too
 * large). A burst that does not fit into the host's buffers loses packets at any rate, and each
 * time after as many packets:
 *
 *   packets back to back = packets received / error-recovery runs      of the same time
 *
 * A run begins when a packet is found missing. It ends when nothing is missing any more, or when
 * packets come whose sender knew of it. Packets received meanwhile do not count, nor does a run
 * soon after another, before 1/4 of the usual number of packets: the buffers are still full then.
 *
 * It is believed when so many runs on end were alike, the host dropped the packets itself, and all
 * the while it received clearly less than it could: otherwise the rate is too large, not the burst.
 * A burst may then have 1/8 less than was found, and carefully more while nothing is lost: 1/16
 * after 16 bursts, after twice as many each time that this went wrong. Just above
 * what fits losses are not regular: 8 runs in 8 * 16 bursts are too many there.
 *
 * Integers. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_BURST_H
#define SLUICE_CONTROL_BURST_H

#include <stdbool.h>
#include <stdint.h>

#define BURST_RUNS 8u         /* on end, that are alike */
#define BURST_MAX  (1u << 20) /* packets: as good as no limit */

/* One interval of a connection. */
struct burst_sample {
    uint64_t packets;    /* received while nothing was missing */
    uint64_t runs;       /* error-recovery runs begun */
    bool own;            /* the host itself has dropped packets lately */
    bool bounded;        /* a burst is as large as the limit allows */
    uint64_t time_ns;    /* since any beginning */
    uint64_t host_bytes; /* user bytes that the host received until then, of all connections */
    uint64_t could_Bps;  /* what the host could receive; 0: not known */
};

struct burst {
    uint64_t packets;             /* since the last run */
    uint32_t runs;                /* seen on end */
    uint64_t sum;                 /* of their packets */
    uint64_t least, most;         /* of one of them */
    uint64_t time_ns, host_bytes; /* when the first of them began */
    uint64_t found_packets;       /* the last estimate; 0: none */
    uint64_t limit_packets;       /* what a burst may have; 0: no limit */
    uint64_t quiet;               /* packets with the limit in force, none of them lost */
    uint32_t setbacks;            /* times that the limit was too high again */
};

void burst_init(struct burst *b);
/* True if the limit changed. */
bool burst_update(struct burst *b, const struct burst_sample *s);

/* A burst within the limit. unit_bytes: of a packet, > 0. */
uint64_t burst_bound(const struct burst *b, uint64_t burst_bytes, uint64_t unit_bytes);

#endif
