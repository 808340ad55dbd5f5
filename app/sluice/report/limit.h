/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What limits a transfer: where the time of one of its ends goes.
 *
 * Model: a transfer is a pipeline of disk and processor of the sender, its daemon, the path, the
 * daemon of the receiver, its processor and disk. A bounded number of requests is in it, so all
 * stages but the slowest wait. Each end is one thread. In an interval of `wall` it waits for its
 * session for `wait`, runs for `cpu`, and is ready to run without a processor for `ready`, because
 * other programs have it. The rest of the time it sleeps in system calls, that is, on files:
 *
 *     disk = max(0, wall - wait - cpu - ready)
 *
 * A thread that is woken up may have to wait for a processor, too: what `ready` is longer than
 * wall - wait - cpu is taken off `wait`.
 *
 * Large files may be read and written by threads of a storage (storage/storage.h). What the end
 * waits for them is their processor time first, and disk for the rest.
 *
 * The connection knows what the end waits for. A sender with all requests in flight waits for its
 * daemon, which counts how long each of three things limited it (struct sluice_stats); `wait` is
 * divided in that proportion:
 *
 * - buffers of the peer: the other end is slower;
 * - the rate: the grant or the path, by the reason that the receiver gives, if at least 3/4 of the
 *   grant was sent, as control counts a grant as used (lib/host/flow_stats.c); if less was sent,
 * the daemon or its port;
 * - the application: all requests are sent and not confirmed yet. By Little's law they spend
 *   bytes / rate in the pipeline. If the round trip is the larger part of that, more requests in
 *   flight would help; otherwise a daemon is late.
 *
 * A receiver that waits has posted all its buffers. The grant or the path limits it if at least 3/4
 * of the grant comes, else the other end does.
 *
 * Alternatives: the receiver could send its own times to the sender, which would tell its disk from
 * its processor; the file protocol has no record for that. Sampling stacks, as profilers do, needs
 * privileges.
 */
#ifndef SLUICE_COMMAND_LIMIT_H
#define SLUICE_COMMAND_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client/sluice.h"
#include "sluice/storage/storage.h"

#define LIMITS_INTERVAL_NS 200000000u

enum limit {
    LIMIT_DISK,      /* files of this end */
    LIMIT_PROCESSOR, /* this end reads, writes and hashes */
    LIMIT_BUSY,      /* other programs have the processors */
    LIMIT_INPUT,     /* the stream that is sent has no data */
    LIMIT_OUTPUT,    /* the stream that is written takes no more */
    LIMIT_PEER,      /* disk or processor of the other end */
    LIMIT_OPTION,    /* what this end allows itself: --bwlimit, --rate */
    LIMIT_GRANT,     /* what the receiving host takes, as measured or configured */
    LIMIT_PATH,
    LIMIT_START,  /* the grant is still rising */
    LIMIT_DAEMON, /* a daemon, or its port, is slower than the grant */
    LIMIT_ROUND,  /* all requests are in flight for a round trip */
    LIMITS,
};

/* What an end of a transfer waits for. */
enum limits_wait {
    LIMITS_FLIGHT, /* sender: all requests are in flight. Receiver: all buffers are posted */
    LIMITS_INPUT,  /* the stream that is sent has no data */
    LIMITS_FILES,  /* pieces that the storage reads or writes */
    LIMITS_ANSWER, /* sender: the receiver must answer before there is anything to send */
    LIMITS_WAITS,
};

/* Whose times these are, and where their reader is. */
enum limits_view {
    LIMITS_FROM_SENDER,   /* of the sender, which is here */
    LIMITS_FROM_RECEIVER, /* of the receiver, which is here */
    LIMITS_FROM_AFAR,     /* of the sender, which is on another host */
};

/* Clocks of the thread, ns. */
struct limits_clock {
    uint64_t wall_ns, cpu_ns;
    uint64_t ready_ns;   /* ready to run, without a processor */
    uint64_t storage_ns; /* CPU time of the threads of the storage */
};

struct limits {
    bool sending;
    bool stream;                    /* receiver: it writes to a stream */
    uint64_t flight_bytes;          /* sender: of all requests in flight */
    uint32_t streams;               /* sender: connections whose counters are added up; 0: one */
    uint64_t own_Bps;               /* what this end allows itself; 0: no limit */
    uint64_t ns[LIMITS];            /* since limits_open() */
    uint64_t recent[LIMITS];        /* the same, smoothed over about a second */
    uint64_t wait_ns[LIMITS_WAITS]; /* since the last sample */
    struct limits_clock last;
    struct sluice_stats stats;     /* at the last sample */
    const struct storage *storage; /* NULL: there is none; set by the caller */
    int ready_file;                /* -1: this kernel does not tell ready_ns, which then is 0 */
};

void limits_open(struct limits *l, bool sending, uint64_t flight_bytes);
void limits_close(struct limits *l);
/* The thread has waited. */
void limits_waited(struct limits *l, enum limits_wait what, uint64_t ns);
/* When the next sample is due, ns. */
uint64_t limits_next(const struct limits *l);
/* Divides the time since the last sample. stats: of the connection, or the sum over all. */
void limits_take(struct limits *l, const struct limits_clock *now,
                 const struct sluice_stats *stats);
/* The same, with the clocks of this thread. */
void limits_sample(struct limits *l, const struct sluice_stats *stats);

/* The largest of ns[]; *share: its part of the sum, 0 if nothing was measured. */
enum limit limits_longest(const uint64_t ns[LIMITS], double *share);
/* What limits now; LIMITS: it is not known yet. */
enum limit limits_now(const struct limits *l);
/* A word or two for a progress bar; "" for LIMITS. */
const char *limits_word(enum limit limit, enum limits_view view);
static inline const char *limits_now_word(const struct limits *l)
{
    return limits_word(limits_now(l), l->sending ? LIMITS_FROM_SENDER : LIMITS_FROM_RECEIVER);
}
/* A name for scripts, as "disk". */
const char *limits_name(enum limit limit);
/* One line for people: what limited the transfer for how much of its time, and what to look at. */
void limits_describe(char *out, size_t out_len, const uint64_t ns[LIMITS], enum limits_view view,
                     const struct sluice_stats *stats);

#endif
