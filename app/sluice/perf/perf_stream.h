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
#ifndef SLUICE_COMMAND_PERF_STREAM_H
#define SLUICE_COMMAND_PERF_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/perf/perf_record.h"
#include "sluice/perf/region.h"

#define PERF_STREAM_PAGE          4096u
#define PERF_STREAM_CONTROL_PAGES 6
#define PERF_STREAM_CONTROL_BYTES (PERF_STREAM_CONTROL_PAGES * PERF_STREAM_PAGE)

/* `user` of submissions. */
enum perf_stream_user {
    PERF_STREAM_OPEN = 1,
    PERF_STREAM_CONTROL, /* a control record sent */
    PERF_STREAM_DATA,    /* sends and receives */
    PERF_STREAM_SHUTDOWN,
};

struct perf_stream_side {
    bool active; /* data go this way */
    uint8_t *region;
    uint64_t region_bytes; /* 0: not of regions_take() */
    uint64_t stride_bytes, slices;
    uint64_t due;         /* requests within the limit; 0: no limit */
    uint8_t *extra;       /* PERF_STREAM_PAGE: where what comes behind them goes */
    uint64_t peer_slices; /* rx: of the sender's memory */
    uint64_t submitted, completed, counted; /* requests */
    uint64_t submitted_bytes, bytes;
    uint64_t start_ns, end_ns; /* GO; the last completion that counts */
    uint64_t held_len, held_ns;
    bool held;
    bool no_more, ended; /* a receive found no more; and all of them have completed */
};

struct perf_stream {
    struct sluice_conn *conn;
    uint8_t *control; /* PERF_STREAM_CONTROL_BYTES: pages 0-3 are received into, 4-5 sent from */
    uint64_t seed;    /* of the pattern, per stream */
    bool check;
    uint64_t request_bytes, limit_bytes, deadline_ns; /* limit 0, deadline UINT64_MAX: none */
    uint32_t outstanding;
    uint64_t wrong_bytes;
    struct perf_stream_side tx, rx;
};

/* Bytes between requests in memory, and how many there is room for in memory_bytes, at least
 * `least`. */
uint64_t perf_stream_stride(uint64_t request_bytes);
uint64_t perf_stream_slices(uint64_t request_bytes, uint64_t memory_bytes, uint64_t least);

struct perf_stream_shape {
    bool tx, rx;
    uint64_t seed;
    bool check;
    uint64_t request_bytes, limit_bytes, memory_bytes;
    uint32_t outstanding;
};

/* Takes memory. 0, or -ENOMEM (see sluice_error()). Receives go into control pages first_page and
 * the next where no data come. */
int perf_stream_init(struct perf_stream *p, struct regions *r,
                     const struct perf_stream_shape *shape, int first_page);
/* Gives memory back; the connection is closed. */
void perf_stream_fini(struct perf_stream *p, struct regions *r);

/* Sends a control record from page 4 (newest) or 5. 0 or a negative errno. */
int perf_stream_tell(struct perf_stream *p, int page, const struct perf_record *r);
/* Submits receives, or sends (until deadline or limit), until enough are outstanding. */
int perf_stream_post(struct perf_stream *p);
int perf_stream_send(struct perf_stream *p, uint64_t now_ns);
/* The next request to send and its length; false: none is left. For perf_stream_send() and
 * synchronous sends; perf_stream_sending() says that it is on its way. */
bool perf_stream_next(const struct perf_stream *p, uint64_t now_ns, const uint8_t **data,
                      uint64_t *len);
void perf_stream_sending(struct perf_stream *p, uint64_t len);

void perf_stream_sent(struct perf_stream *p, uint64_t len, uint64_t now_ns);
void perf_stream_received(struct perf_stream *p, uint64_t len, uint64_t now_ns);
/* All data are out and confirmed. */
bool perf_stream_tx_done(const struct perf_stream *p, uint64_t now_ns);
/* A receive found that the peer sends no more. */
void perf_stream_no_more(struct perf_stream *p);
/* Once rx.ended: settles what is held. report: it is no data; its bytes, or NULL. */
const uint8_t *perf_stream_rx_end(struct perf_stream *p, bool report, uint64_t *len);

/* Figures of a side for a report. */
void perf_stream_figures(const struct perf_stream *p, bool tx, const struct sluice_stats *stats,
                         struct perf_side *out);

#endif
