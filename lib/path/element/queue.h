/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue before a server: one band, or several with strict priority. Each has a limit in
 * packets, bytes or both. It is drop-tail unless RED decides at the entrance or CoDel at the exit.
 *
 * Invariant: bytes and packets of all bands = the element's queued_bytes and queued_packets, less
 * the packet being served. (Not so in a plain link, which uses only the first band's ring: rate.c.)
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
#define QUEUE_LIMIT_PACKETS 1000u /* of a band without a limit, as netem's */

struct queue_band {
    uint64_t length;   /* takes frames of at most so many bytes; UINT64_MAX: any */
    uint64_t dscp_set; /* bit n: takes code point n; all ones: any */
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

/* Reads an option of the queue. False if the next word begins none. */
bool queue_option(struct spec *s, struct queue_params *p);
/* To be called after the last option: sets defaults, rejects options that do not fit together.
 * Returns 0, or an error kept in s. */
int queue_complete(struct spec *s, struct queue_params *p);

/* Makes room for as many packets as the limits allow, in the element's params now and after each
 * change. of(params) returns the queue_params in params. */
int queue_init(struct queue *q, const struct element *e,
               const struct queue_params *(*of)(const void *params));
void queue_fini(struct queue *q);

/*
 * queue_push() puts the packet into its band, or drops it because of the band's limit or RED and
 * returns false.
 *
 * packets, bytes: what is being served, if that counts against the limit as well. idle: no packet
 * is being served. Then the new packet is not queued: true says that the server may take it at
 * once, and it needs room in the band only if served_counts. rate_Bps: of the server, for RED.
 */
struct queue_extra {
    uint64_t packets, bytes;
    bool idle, served_counts;
    uint64_t rate_Bps;
};
bool queue_push(struct queue *q, struct element *e, const struct queue_params *p,
                struct path_packet *packet, const struct queue_extra *extra);
/* Takes the packet that is to be served from `now` on, after those that CoDel drops. False if none
 * is left. */
bool queue_pop(struct queue *q, struct element *e, const struct queue_params *p, uint64_t now,
               struct path_packet *packet);

#endif
