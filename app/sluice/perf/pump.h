/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of one `sluice perf` stream: requests sent out of one region and received into another,
 * each cycled through slice by slice, a number of them always outstanding.
 *
 * A slice holds one request (or a control record, if that is longer). Receives complete in order,
 * and the newest one that arrived is held back, uncounted, until the next: the last request of a
 * direction may be the peer's REPORT, and only the end tells. Where a limit says how many requests
 * there are, none needs more slices than that.
 */
#ifndef SLUICE_COMMAND_PUMP_H
#define SLUICE_COMMAND_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/perf/perf_record.h"
#include "sluice/perf/region.h"

#define PUMP_PAGE          4096u
#define PUMP_CONTROL_PAGES 6
#define PUMP_CONTROL_BYTES (PUMP_CONTROL_PAGES * PUMP_PAGE)

/* `user` of submissions. */
enum pump_user {
    PUMP_OPEN = 1,
    PUMP_CONTROL, /* a control record sent */
    PUMP_DATA,    /* sends and receives */
    PUMP_SHUTDOWN,
};

struct pump_side {
    bool active; /* data go this way */
    uint8_t *region;
    uint64_t region_bytes; /* 0: not of regions_take() */
    uint64_t stride_bytes, slices;
    uint64_t due;                           /* requests within the limit; 0: no limit */
    uint8_t *extra;                         /* PUMP_PAGE: where what comes behind them goes */
    uint64_t peer_slices;                   /* rx: of the sender's memory */
    uint64_t submitted, completed, counted; /* requests */
    uint64_t submitted_bytes, bytes;
    uint64_t start_ns, end_ns; /* GO; the last completion that counts */
    uint64_t held_len, held_ns;
    bool held;
    bool no_more, ended; /* a receive found no more; and all of them have completed */
};

struct pump {
    struct sluice_conn *conn;
    uint8_t *control; /* PUMP_CONTROL_BYTES: pages 0-3 are received into, 4-5 sent from */
    uint64_t seed;    /* of the pattern, per stream */
    bool check;
    uint64_t request_bytes, limit_bytes, deadline_ns; /* limit 0, deadline UINT64_MAX: none */
    uint32_t outstanding;
    uint64_t wrong_bytes;
    struct pump_side tx, rx;
};

/* Bytes between requests in memory, and how many there is room for in memory_bytes, at least
 * `least`. */
uint64_t pump_stride(uint64_t request_bytes);
uint64_t pump_slices(uint64_t request_bytes, uint64_t memory_bytes, uint64_t least);

struct pump_shape {
    bool tx, rx;
    uint64_t seed;
    bool check;
    uint64_t request_bytes, limit_bytes, memory_bytes;
    uint32_t outstanding;
};

/* Takes memory. 0, or -ENOMEM (see sluice_error()). Receives go into control pages first_page and
 * the next where no data come. */
int pump_init(struct pump *p, struct regions *r, const struct pump_shape *shape, int first_page);
/* Gives memory back; the connection is closed. */
void pump_fini(struct pump *p, struct regions *r);

/* Sends a control record from page 4 (newest) or 5. 0 or a negative errno. */
int pump_tell(struct pump *p, int page, const struct perf_record *r);
/* Submits receives, or sends (until deadline or limit), until enough are outstanding. */
int pump_post(struct pump *p);
int pump_send(struct pump *p, uint64_t now_ns);
/* The next request to send and its length; false: none is left. For pump_send() and synchronous
 * sends; pump_sending() says that it is on its way. */
bool pump_next(const struct pump *p, uint64_t now_ns, const uint8_t **data, uint64_t *len);
void pump_sending(struct pump *p, uint64_t len);

void pump_sent(struct pump *p, uint64_t len, uint64_t now_ns);
void pump_received(struct pump *p, uint64_t len, uint64_t now_ns);
/* All data are out and confirmed. */
bool pump_tx_done(const struct pump *p, uint64_t now_ns);
/* A receive found that the peer sends no more. */
void pump_no_more(struct pump *p);
/* Once rx.ended: settles what is held. report: it is no data; its bytes, or NULL. */
const uint8_t *pump_rx_end(struct pump *p, bool report, uint64_t *len);

/* Figures of a side for a report. */
void pump_figures(const struct pump *p, bool tx, const struct sluice_stats *stats,
                  struct perf_side *out);

#endif
