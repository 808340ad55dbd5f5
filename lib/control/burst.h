/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds how many packets a host can take back to back ([XTP-RATE], section 4: burst too large). A
 * burst that does not fit into the host's buffers loses packets at any rate, and does so each time
 * after about as many packets:
 *
 *   packets back to back = packets received / error-recovery runs      in the same time
 *
 * A run begins when a packet is found missing. It ends when nothing is missing any more, or when
 * packets arrive whose sender knew of the loss. Packets received during a run do not count. A run
 * that follows another within 1/4 of the usual number of packets does not count either: the buffers
 * are still full then.
 *
 * The estimate is believed if BURST_RUNS runs in a row were alike, the host dropped the packets
 * itself, and meanwhile it received clearly less than it could. Otherwise the rate is too large,
 * not the burst. The limit on a burst is then 1/8 less than the estimate, or a packet less, but at
 * least one. While nothing is lost, the limit rises carefully: by 1/16 after 16 bursts, and after
 * twice as many bursts for each time that a limit proved too high. Just above what fits, losses are
 * not regular: if bursts are as large as the limit, 8 runs within 8 * 16 bursts are enough to lower
 * it.
 *
 * Computes in integers. Owned by the control lcore.
 */
#ifndef SLUICE_CONTROL_BURST_H
#define SLUICE_CONTROL_BURST_H

#include <stdbool.h>
#include <stdint.h>

#define BURST_RUNS 8u         /* runs in a row that must be alike */
#define BURST_MAX  (1u << 20) /* packets; a limit above this is dropped */

/* What a connection received in one interval, and how its host fared. */
struct burst_sample {
    uint64_t packets;    /* received while nothing was missing */
    uint64_t runs;       /* error-recovery runs begun */
    bool own;            /* the host itself has dropped packets lately */
    bool bounded;        /* the granted burst is as large as the limit allows */
    uint64_t time_ns;    /* since an arbitrary start */
    uint64_t host_bytes; /* user bytes received until time_ns, of all connections */
    uint64_t could_Bps;  /* what the host could receive; 0: unknown */
};

struct burst {
    uint64_t packets;             /* received since the last run */
    uint32_t runs;                /* error-recovery runs counted in a row */
    uint64_t sum;                 /* of the packets before each of `runs` */
    uint64_t least, most;         /* packets before one of `runs` */
    uint64_t time_ns, host_bytes; /* when `runs` began to be counted */
    uint64_t found_packets;       /* the last estimate; 0: none */
    uint64_t limit_packets;       /* largest burst allowed; 0: no limit */
    uint64_t quiet;               /* packets without a loss while the limit was in force */
    uint32_t setbacks;            /* how often a limit in force proved too high */
};

void burst_init(struct burst *b);
/* Takes the next sample. True if the limit changed. */
bool burst_update(struct burst *b, const struct burst_sample *s);

/* burst_bytes, cut to the limit. unit_bytes: user bytes of a packet, > 0. */
uint64_t burst_bound(const struct burst *b, uint64_t burst_bytes, uint64_t unit_bytes);

#endif
