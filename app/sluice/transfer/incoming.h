/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One sender, as the receiver sees it: its connection, the requests that arrived, the file being
 * written, the RESULTs to be sent back.
 *
 * The places of a ring have a buffer each. From `head` on there are n_ready places whose request
 * has arrived and waits to be read, then `posted` places with a receive submitted. The buffer of a
 * request that was read, but of which a piece is still being written (incoming_behind.c), has no
 * place until then. Nothing that a
 * sender writes is trusted: a breach of the protocol ends the connection, a refusal of the
 * file system ends only the file.
 *
 * Several connections may share a transfer (incoming_stream.c). The one that has begun it leads. It
 * reads the requests of all of them, in the order of their numbers, and answers on its own. So
 * whatever a sender does, files and their RESULTs have one order.
 */
#ifndef SLUICE_COMMAND_INCOMING_H
#define SLUICE_COMMAND_INCOMING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/delta/basis.h"
#include "sluice/files/part_file.h"
#include "sluice/manifest/writer.h"
#include "sluice/report/summary.h"
#include "sluice/request/buffers.h"
#include "sluice/request/pack.h"
#include "sluice/request/result_queue.h"
#include "sluice/storage/storage.h"
#include "sluice/sync/sync.h"
#include "sluice/transfer/copy.h"

enum incoming_state {
    INCOMING_IDLE,    /* no connection */
    INCOMING_WAITING, /* accept submitted */
    INCOMING_OPEN,
    INCOMING_JOINED, /* it carries requests of the transfer of `lead`, which closes it */
    INCOMING_OVER,   /* nothing is left to do but to close the connection */
};

#define INCOMING_UNNUMBERED UINT64_MAX

/* `user` of what is sent: this, and the slot of the result queue. */
#define INCOMING_USER_ANSWER 1000

/* The connections that share a transfer, as the one that leads has them. */
struct incoming_streams {
    uint32_t most;    /* that the receiver would take; set by receiver.c */
    uint32_t granted; /* that the sender may use, with the first; 0: it has not asked */
    bool answered;    /* it was told so */
    uint32_t n;       /* that have joined the first */
    struct incoming *joined[RECORD_STREAMS_MAX - 1];
    /* Number of the request that is read next; 0: requests have none; INCOMING_UNNUMBERED: the
     * first one has not come yet. */
    uint64_t next;
    struct incoming *reading; /* the one whose request is being read; NULL: none is */
    uint8_t token[RECORD_TOKEN_BYTES];
};

struct incoming {
    enum incoming_state state;
    struct sluice *session;
    struct sluice_conn *conn;
    struct destination *destination;
    const struct copy *copy; /* NULL: this is no end of sluice cp; set by receiver.c */
    bool quiet;              /* no notes; set by receiver.c */
    FILE *lines;             /* for lines of JSON, or NULL; set by receiver.c */
    struct writer *manifest; /* NULL: none is written; set by receiver.c */
    uint32_t channel;
    uint32_t slots;        /* at most so many requests are received at the same time */
    struct incoming *lead; /* whose transfer this connection has joined; NULL: none */
    struct incoming_streams streams;

    struct buffers buffers;
    uint32_t head, n_ready, posted;
    uint8_t buffer[BUFFERS_MAX]; /* that of each place */
    uint64_t len[BUFFERS_MAX];   /* bytes of the request in each place */
    uint64_t at_bytes;           /* of the request that is being read, how many have been */

    struct part_file part;
    struct storage *storage;    /* for incoming_behind.c; NULL: none. Set by receiver.c */
    struct storage_file behind; /* in->part, as it is written */
    uint64_t behind_bytes;      /* of it that were handed over */
    bool direct;                /* large files go past the page cache; set by receiver.c */
    bool refused;               /* a file system has no direct I/O, which was told */
    struct storage_piece pieces[BUFFERS_MAX]; /* of the request in each buffer */
    bool passed[BUFFERS_MAX]; /* the request in this buffer was read, and its piece not written */
    uint32_t n_passed;

    struct sync sync;   /* sync.options is set by receiver.c */
    struct basis basis; /* the file whose blocks the sender is being told */
    struct result_queue results;
    bool in_file, skipping; /* between OFFER and the file's end; ignoring data of a refused file */
    bool telling;           /* the sender is being told what there is of the file */
    bool attributed;        /* an ATTR has come, and not yet what it belongs to */
    uint64_t file;          /* number of the newest OFFER, DIR, LINK or HARD */
    uint64_t asked;         /* number of the newest ASK */
    char name[RECORD_NAME_MAX + 1];

    bool proved; /* a receive has completed, so the peer's address is not forged */
    bool served; /* the peer counts as a sender; written by receiver.c */
    uint64_t
        limit_Bps; /* that the daemon keeps the peer to; 0: none; written by receiver_limit.c */
    uint64_t limited_bytes;             /* had come when that was divided last */
    uint64_t divided_bytes;             /* had come at the receiver's last sample of limits */
    uint64_t limited_before_ns[LIMITS]; /* the receiver's times when the peer became a sender */
    bool end_all, shutting, shut;
    bool no_more, peer_ended; /* a receive met the end of data; after that, all have completed */
    int status;               /* negative errno that broke the connection */
    int code;                 /* exit code for this sender */
    struct summary summary;
};

/* n_slots: at most so many requests are received at the same time. 0 or -ENOMEM. */
int incoming_init(struct incoming *in, struct sluice *session, struct destination *destination,
                  uint32_t n_slots);
void incoming_fini(struct incoming *in);

/* Submits an accept with receives for so many requests; more follow once they pay. 0 or a negative
 * errno. */
int incoming_accept(struct incoming *in, uint16_t port, uint32_t channel, uint32_t requests);
void incoming_complete(struct incoming *in, const struct sluice_completion *c);
/* Reads the token, which must be the first record. 1: it is the copy's; 0: nothing has arrived;
 * -EACCES: the peer is not the sender for which this receiver waits. */
int incoming_join(struct incoming *in);
/* Reads at most about max_bytes of what arrived. True: there is more to read now. */
bool incoming_work(struct incoming *in, uint64_t max_bytes);
/* The storage has given back a piece of in->pieces. */
void incoming_written(struct incoming *in, const struct storage_piece *p);
/* Closes the connection, finished or not. A file that is not whole is removed, or left for a later
 * transfer, with a message. */
void incoming_close(struct incoming *in);

/* Tells the sender a part of what there is of a file: the blocks of the one that it has asked about
 * last, or else hashes of the one that it sends (incoming_record.c). *bytes: work done; 0: there is
 * nothing to tell now. Returns 0 or -ENOMEM. */
int incoming_tell(struct incoming *in, uint64_t *bytes);
/* Carries out one record (incoming_record.c). 0, or a negative errno with *why. */
int incoming_record(struct incoming *in, const struct record *r, const uint8_t *data,
                    const char **why);
/* Refuses the file: answers at once, and ignores the rest of its records (incoming_record.c). 0 or
 * -ENOMEM. */
int incoming_refuse(struct incoming *in, enum record_code code);
void incoming_failed(struct incoming *in, int code);
/* The name that the file of in->name has in the destination, for the manifest. */
static inline const char *incoming_listed(const struct incoming *in)
{
    return in->destination->kind == DESTINATION_FILE ? in->destination->base : in->name;
}
/* Reports how the file, directory or link ended: to the sender, and, if it failed, here. 0 or
 * -ENOMEM. */
int incoming_result(struct incoming *in, enum record_code code, uint64_t size);

/* ---- incoming_stream.c: several connections ------------------------------------------------- */

/* The connection can carry nothing more. */
static inline void incoming_broken(struct incoming *in, int status)
{
    if (in->status == 0 || in->status == -ECANCELED)
        in->status = status;
}
/* Nothing more can be received here. The sender does not know that, so its transfer ends. */
static inline void incoming_stuck(struct incoming *in, int err)
{
    incoming_broken(in, err);
    if (in->lead != NULL)
        incoming_broken(in->lead, err);
}
/* The request at the head, which is there. */
const uint8_t *incoming_request(const struct incoming *in);
/* Submits a receive into each free buffer. 0 or a negative errno. */
int incoming_post(struct incoming *in);
/* Begins a transfer that has one connection so far. */
void incoming_streams_begin(struct incoming *in);
/* The sender asks for several connections. NULL, or what is wrong with that. */
const char *incoming_streams_asked(struct incoming *in, const struct record *r);
/* If the sender has asked, tells it once how many it may use, at most `most`. */
void incoming_streams_answer(struct incoming *in, uint32_t most);
/* How many connections the sender may still open for its transfer, or ask for. */
uint32_t incoming_streams_expected(const struct incoming *in);
/* Whether a peer wants to join a transfer. */
bool incoming_wants_to_join(const struct incoming *in);
/* Lets a peer that wants to join do so, and tells it. False: it is not of the transfer of `lead`.
 */
bool incoming_attach(struct incoming *lead, struct incoming *in);
/* The connection that has the request which is to be read now; NULL: that has not come. */
struct incoming *incoming_due(struct incoming *in);
/* Whether a request has come that cannot, or never will, be read. */
bool incoming_disordered(const struct incoming *in);
/* The request of incoming_due() has been read. */
void incoming_pass(struct incoming *in);
/* Frees the buffers whose pieces are not being written any more. */
void incoming_streams_release(struct incoming *in);
/* Whether all connections have ended: what has not come now will not. */
bool incoming_streams_ended(const struct incoming *in);
/* Shuts down the direction of all that have joined. */
void incoming_streams_shut(struct incoming *in, uint64_t user);
/* Whether that is done. */
bool incoming_streams_are_shut(const struct incoming *in);
/* Closes those that have joined, and counts what has come on them. */
void incoming_streams_close(struct incoming *in);

/* ---- incoming_behind.c: pieces that are written behind this thread -------------------------- */

/* in->part was opened, or could not be. */
void incoming_behind_begin(struct incoming *in);
/* All of in->part is written. */
void incoming_behind_end(struct incoming *in);
/* Whether this record's data, in the request that is being read, are to be written behind. Any
 * other record waits until those before it are written. */
bool incoming_behind_takes(const struct incoming *in, const struct record *r);
/* Has them written, as part_file_write() does. */
enum record_code incoming_behind_write(struct incoming *in, const uint8_t *data,
                                       uint32_t len_bytes);
/* What is not written yet of the file will not be. */
void incoming_behind_cancel(struct incoming *in);

/* ---- incoming_sync.c: a sync --------------------------------------------------------------- */

/* Forgets what an earlier sender has said. */
void incoming_sync_begin(struct incoming *in);
/* NULL, or why the record cannot come: what only a sync has, or what a dry run does not. */
const char *incoming_sync_fault(const struct incoming *in, const struct record *r);
/* Whether something of the name in->name takes part, by the rules and names that the receiver's
 * user has given. */
bool incoming_sync_takes(const struct incoming *in, bool directory);
/* Says what becomes of the file that is asked about; its name is in->name. 0 or -ENOMEM. */
int incoming_sync_asked(struct incoming *in, const struct record *r, bool whole);
/* The offered file is in its place, as *st. 0 or -ENOMEM. */
int incoming_sync_received(struct incoming *in, const struct stat *st);
/* A DIR or LINK whose name is in->name. 0 or -ENOMEM. */
int incoming_sync_directory(struct incoming *in, const struct record *r);
/* What has the name in->name stays, though nothing is sent. directory: all names in there are told,
 * too. 0 or -ENOMEM. */
int incoming_sync_named(struct incoming *in, bool directory);
/* All names were told: removes what the sender does not have. */
void incoming_sync_all_named(struct incoming *in, const struct record *r);
int incoming_sync_link(struct incoming *in, const struct record *r, const char *target);
/* A HARD whose name is in->name. 0 or -ENOMEM. */
int incoming_sync_hard(struct incoming *in, const struct record *r);
/* Attributes of what comes next. 0, -EPROTO with *why, or -ENOMEM. */
int incoming_sync_attributes(struct incoming *in, const struct record *r, const uint8_t *data,
                             const char **why);
/* Nothing follows. */
void incoming_sync_end(struct incoming *in, const struct record *r);

#endif
