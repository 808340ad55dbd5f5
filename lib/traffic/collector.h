/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one receiver of a tester has seen in a window: a tally for each stream, latencies, and the
 * frames that do not count.
 *
 *   arrived = received + duplicates + beyond (of all tallies) + earlier + corrupt + foreign
 *
 * since collector_begin(), unless it only counts. `earlier` frames belong to another window, or to
 * a stream or flow that this window does not have. A corrupt frame has a stamp, but a wrong
 * checksum or length; its number is not believed, so it also counts as lost. A foreign frame has no
 * stamp.
 *
 * `listening`: the sender is another process. Then the newest window of each stream counts, and
 * latencies do not, since the sender's clock is not ours.
 *
 * Latency is from the time in the stamp to the time given to collector_take(), never below 0.
 */
#ifndef SLUICE_TRAFFIC_COLLECTOR_H
#define SLUICE_TRAFFIC_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "traffic/tally.h"
#include "wire/stamp.h"

struct collector {
    struct stamp_shape shape;           /* of most frames; others take longer to read */
    struct tally *tally[STAMP_STREAMS]; /* NULL: this window does not have the stream */
    uint16_t window[STAMP_STREAMS];     /* that the tally counts; STAMP_WINDOWS: none yet */
    bool listening;
    bool verify; /* read the filler, too */
    bool counts; /* only count what arrives, and do not read it */
    uint64_t arrived, arrived_bytes;
    uint64_t earlier, corrupt, foreign;
    struct histogram latency; /* ns */
};

/* Starts a window with the streams that have a tally; all of them count frames of `window`. */
void collector_begin(struct collector *c, struct tally *const tally[STAMP_STREAMS],
                     uint16_t window);

/* Looks at frames that were received at time_ns. They remain the caller's. */
void collector_take(struct collector *c, struct rte_mbuf *const *m, uint32_t n, uint64_t time_ns);

#endif
