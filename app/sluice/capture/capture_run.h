/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture: rings that the daemon's workers fill, and the file that they are emptied into. Frames
 * of several rings are written in the order of their times; but a frame that its worker writes
 * later than CAPTURE_LATE_NS after its time, because the worker lost its core, may stand behind
 * younger ones; and so may all frames when the time of day is set back.
 */
#ifndef SLUICE_CAPTURE_RUN_H
#define SLUICE_CAPTURE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "client/capture.h"
#include "sluice/capture/capture_file.h"
#include "sluice/loop.h"

#define CAPTURE_RINGS_MAX (CAPTURE_PORTS_MAX * PROTOCOL_CHANNELS_MAX)
#define CAPTURE_LATE_NS   5000000u

struct capture_port {
    char name[128], driver[64];
    struct client_capture rings;
    uint32_t first_reader;
};

struct capture {
    struct loop loop;
    struct capture_file file;
    struct capture_port ports[CAPTURE_PORTS_MAX];
    uint32_t n_ports;
    struct capture_reader readers[CAPTURE_RINGS_MAX];
    uint32_t reader_ports[CAPTURE_RINGS_MAX]; /* [i]: the port whose ring readers[i] reads */
    uint32_t n_readers;
    uint64_t begin_ns;  /* time of day */
    uint64_t count_max; /* frames after which the capture ends; UINT64_MAX: no limit */
    uint64_t end_ns;    /* when it ends, CLOCK_MONOTONIC; UINT64_MAX: never */
    uint64_t count;     /* frames written */
    bool daemon_gone, reader_gone;
    bool broken; /* the daemon has written what is no block, and the capture ends */
};

/* Has the daemon begin to copy; buffer_bytes for each port. Returns an exit code; the error is
 * printed. */
int capture_begin(struct capture *c, uint64_t buffer_bytes, uint32_t snap_bytes);
/* How old frames must be at now_ns (time of day) to be written: all, if this is the last look, or
 * if there is one ring only, whose frames are in their order. */
uint64_t capture_until_ns(const struct capture *c, bool last, uint64_t now_ns);
/* Moves frames from the rings to the file, the oldest first, but for those that are younger than
 * until_ns by at most 2 CAPTURE_LATE_NS. Returns how many. */
uint64_t capture_move(struct capture *c, uint64_t until_ns);
/* Writes to the file, which is open, until the end. The file keeps its failure. */
void capture_run(struct capture *c, uint32_t snap_bytes);
/* Frames that had no room in the port's rings. */
uint64_t capture_port_dropped(const struct capture *c, uint32_t port);

#endif
