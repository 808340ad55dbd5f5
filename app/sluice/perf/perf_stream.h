/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of one `sluice perf` stream. Requests are sent from one region and received into
 * another. Each region is cycled through slice by slice, with a fixed number of requests
 * outstanding.
 *
 * A slice holds one request (or a control record, if that is longer). Receives complete in order.
 * The newest request that arrived is held back, uncounted, until the next one arrives: the last
 * request of a direction may be the peer's REPORT, which only the end of the direction shows. Where
 * a byte limit fixes the number of requests, a region has no more slices than requests.
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
    PERF_STREAM_CONTROL, /* control records; but the REPORT is received as DATA */
    PERF_STREAM_DATA,    /* sends and receives of data */
    PERF_STREAM_SHUTDOWN,
};

struct perf_stream_side {
    bool active; /* data travel in this direction */
    uint8_t *region;
    uint64_t region_bytes; /* 0: the region is not from regions_take() */
    uint64_t stride_bytes, slices;
    uint64_t due;         /* number of requests within the byte limit; 0: no limit */
    uint8_t *extra;       /* PERF_STREAM_PAGE bytes for the request after the due ones */
    uint64_t peer_slices; /* rx: number of slices of the sender's region */
    uint64_t submitted, completed, counted; /* numbers of requests */
    uint64_t submitted_bytes, bytes;
    uint64_t start_ns, end_ns; /* start: GO; end: the last completion that counts */
    uint64_t held_len, held_ns;
    bool held;
    bool no_more, ended; /* a receive met the end of data; after that, all have completed */
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

/* perf_stream_stride(): bytes from the start of one request in memory to the next.
 * perf_stream_slices(): number of requests that memory_bytes holds, but at least `least`. */
uint64_t perf_stream_stride(uint64_t request_bytes);
uint64_t perf_stream_slices(uint64_t request_bytes, uint64_t memory_bytes, uint64_t least);

struct perf_stream_shape {
    bool tx, rx;
    uint64_t seed;
    bool check;
    uint64_t request_bytes, limit_bytes, memory_bytes;
    uint32_t outstanding;
};

/* Takes the regions. 0, or -ENOMEM (see sluice_error()). If no data are to be received, receives go
 * into control pages first_page and first_page + 1. */
int perf_stream_init(struct perf_stream *p, struct regions *r,
                     const struct perf_stream_shape *shape, int first_page);
/* Gives the regions back. The connection is closed already. */
void perf_stream_fini(struct perf_stream *p, struct regions *r);

/* Sends a control record from control page `page`, 4 or 5. 0 or a negative errno. */
int perf_stream_tell(struct perf_stream *p, int page, const struct perf_record *r);
/* Submit receives, or sends (up to deadline or limit), until enough are outstanding. 0 or a
 * negative errno. */
int perf_stream_post(struct perf_stream *p);
int perf_stream_send(struct perf_stream *p, uint64_t now_ns);
/* Gives the next request to send and its length; false: none is left. For perf_stream_send() and
 * synchronous sends; after the send, the caller calls perf_stream_sending(). */
bool perf_stream_next(const struct perf_stream *p, uint64_t now_ns, const uint8_t **data,
                      uint64_t *len);
void perf_stream_sending(struct perf_stream *p, uint64_t len);

void perf_stream_sent(struct perf_stream *p, uint64_t len, uint64_t now_ns);
void perf_stream_received(struct perf_stream *p, uint64_t len, uint64_t now_ns);
/* True if all data have been sent and confirmed. */
bool perf_stream_tx_done(const struct perf_stream *p, uint64_t now_ns);
/* A receive found that the peer sends no more. */
void perf_stream_no_more(struct perf_stream *p);
/* To be called once rx.ended is set: releases the request that is held. report false: counts it as
 * data and returns NULL. report true: returns its bytes and *len, or NULL if none is held. */
const uint8_t *perf_stream_rx_end(struct perf_stream *p, bool report, uint64_t *len);

/* Figures of one direction, for a report. */
void perf_stream_figures(const struct perf_stream *p, bool tx, const struct sluice_stats *stats,
                         struct perf_side *out);

#endif
