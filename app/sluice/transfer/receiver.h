/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receiver of files: waits on every channel, serves several senders at the same time.
 *
 * A peer that was accepted may be a forged packet. It becomes a sender, which counts and is served,
 * when its first receive completes: receives complete only after the peer has proved its address.
 *
 * Invariant: while the receiver is accepting, every channel has an incoming connection that waits,
 * unless
 *   - options->senders senders are being served,
 *   - options->senders + (number of channels) other peers have been accepted, or
 *   - memory is short.
 */
#ifndef SLUICE_COMMAND_RECEIVER_H
#define SLUICE_COMMAND_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/destination.h"
#include "sluice/loop.h"
#include "sluice/manifest/writer.h"
#include "sluice/options.h"
#include "sluice/perf/rates.h"
#include "sluice/rate/allowance.h"
#include "sluice/report/limit.h"
#include "sluice/report/progress.h"
#include "sluice/transfer/incoming.h"

#define RECEIVER_INCOMING_MAX 128

struct receiver_options {
    struct options common;
    const char *output; /* argument of -o */
    uint16_t port;      /* service; 0: any free one */
    uint32_t slots;     /* requests posted per sender */
    uint32_t senders;   /* at most so many are served at the same time */
    uint64_t count;     /* the receiver ends after so many senders; 0: never */
    uint64_t max_bytes; /* of a file; 0: as destination_open() sets it */
    struct allowance_options allowance;
    uint32_t keep_s; /* how long part files of interrupted transfers are kept; 0: not at all */
    bool fsync, overwrite;
    bool direct;                     /* large files go past the page cache */
    bool directory;                  /* the output must be a directory */
    const struct copy *copy;         /* NULL: this is no end of sluice cp */
    const struct sync_options *sync; /* NULL: this is no sync */
    struct writer *manifest;         /* NULL: none is written */
};

struct receiver {
    struct loop loop;
    const struct receiver_options *options;
    struct destination destination;
    struct remove_rules clear; /* of a sync */
    struct storage *storage;   /* NULL: all is written by this thread */
    struct incoming *senders[RECEIVER_INCOMING_MAX];
    uint32_t n_senders;
    uint64_t count;     /* options->count, or 1 if the destination takes one file; 0: no limit */
    uint64_t served;    /* senders so far, with those being served now */
    uint64_t strangers; /* of a copy: peers that were refused */
    uint16_t port;      /* service that is claimed */
    bool accepting, short_of_memory;
    struct flow past; /* sum over connections that are closed */
    struct progress progress;
    uint64_t past_bytes;  /* of files of senders that are done */
    struct limits limits; /* while senders are served */
    struct allowance allowance;
    uint64_t port_Bps; /* what the daemon's port carries; 0: not known, or nothing depends on it */
    uint64_t allowed_Bps; /* to all senders together; 0: no limit */
    uint64_t divided_ns;  /* when that was divided */
    uint64_t divide_ns;   /* when to divide it next */
    struct rates rates;
    int code; /* exit code, the first that was not 0 */
};

/* ---- receiver_limit.c: what senders are allowed -------------------------------------------- */

/* Connections have come or gone: the next receiver_limit() divides what is allowed among them. */
static inline void receiver_limit_again(struct receiver *r)
{
    r->divide_ns = 0;
}
/* Has the daemon keep the senders to what is allowed now. Returns an exit code. */
int receiver_limit(struct receiver *r);
/* When receiver_limit() has something to do, ns; UINT64_MAX: never. */
static inline uint64_t receiver_limit_next(const struct receiver *r)
{
    return time_min(r->allowance.next_ns, r->divide_ns);
}

/* Receives until `count` is reached or a signal comes. Returns an exit code. */
int receiver_run(struct receiver *r, const struct receiver_options *o);

#endif
