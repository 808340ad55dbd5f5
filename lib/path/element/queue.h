/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets before a server: one queue or several with strict priority, each with a limit in packets,
 * bytes or both, drop-tail unless RED decides at the entrance or CoDel at the exit.
 *
 * Invariant: bytes and packets of all bands = the element's queued_bytes and queued_packets, but
 * for the packet being served.
 */
#ifndef SLUICE_PATH_QUEUE_H
#define SLUICE_PATH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "path/element.h"
#include "path/element/codel.h"
#include "path/element/red.h"
#include "path/fifo.h"

#define QUEUE_BANDS_MAX     8u
#define QUEUE_LIMIT_PACKETS 1000u /* if nothing is said; netem's */

struct queue_band {
    uint64_t length;   /* frames of at most this many bytes; UINT64_MAX: any */
    uint64_t dscp_set; /* bit n: code point n; all ones: any */
    uint64_t limit_packets, limit_bytes;
};

struct queue_params {
    struct queue_band bands[QUEUE_BANDS_MAX]; /* by priority; the last one takes any packet */
    uint32_t n_bands;
    bool has_red, has_codel;
    struct red_params red;
    struct codel_params codel;
};

struct queue {
    struct {
        struct fifo fifo;
        uint64_t bytes;
    } bands[QUEUE_BANDS_MAX];
    uint32_t n_bands;
    struct red red;
    struct codel codel;
};

/* Takes an option of the queue, if the next word is one; true if so. */
bool queue_option(struct spec *s, struct queue_params *p);
/* After the last option: what was not said, and what does not fit together. */
int queue_complete(struct spec *s, struct queue_params *p);

/* Room for all that the element's params, now and later, allow. of(params): the queue's. */
int queue_init(struct queue *q, const struct element *e,
               const struct queue_params *(*of)(const void *params));
void queue_fini(struct queue *q);

/*
 * The packet joins, or is dropped by its band's limit or RED. extra: packets and bytes that count
 * against the limit as well (being served). idle: nothing is being served; then it is not kept, but
 * true says that it may be served: it needs room only where served_counts says so. rate_Bps: of
 * the server, for RED.
 */
struct queue_extra {
    uint64_t packets, bytes;
    bool idle, served_counts;
    uint64_t rate_Bps;
};
bool queue_push(struct queue *q, struct element *e, const struct queue_params *p,
                struct path_packet *packet, const struct queue_extra *extra);
/* The next one to serve at now. CoDel's drops happen here. False if there is none. */
bool queue_pop(struct queue *q, struct element *e, const struct queue_params *p, uint64_t now,
               struct path_packet *packet);

#endif
