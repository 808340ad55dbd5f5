/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender of files: one connection, its requests in flight, the files that wait for their RESULT.
 *
 * Files become records (sender_file.c), records fill requests (pack.h), and requests are sent.
 * RESULTs come back in the order of the files (sender_result.c). The transfer has succeeded when
 * END_ALL is sent and no file waits.
 *
 * With `resume`, the sender first asks the receiver what it has of each file. So that no round trip
 * is waited for between files, a second walk through the files goes up to SENDER_ASKS_MAX files
 * ahead of the first one and asks. Files that the receiver has are passed over; of a file that it
 * has in part it tells the hashes of the chunks, and the sender sends those that differ
 * (sender_resume.c). In a sync, the receiver answers about a file that has changed with the blocks
 * of its own; the sender names those that the new one has, and sends the rest (sender_delta.c).
 *
 * Several connections may share the transfer (sender_stream.c): requests are numbered, and each
 * goes on the connection that has least under way. The receiver reads them in order, and answers on
 * the first connection.
 */
#ifndef SLUICE_COMMAND_SENDER_H
#define SLUICE_COMMAND_SENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sluice/attributes/inspect.h"
#include "sluice/attributes/link_table.h"
#include "sluice/delta/block_list.h"
#include "sluice/files/source.h"
#include "sluice/files/tree.h"
#include "sluice/loop.h"
#include "sluice/manifest/writer.h"
#include "sluice/options.h"
#include "sluice/perf/rates.h"
#include "sluice/rate/allowance.h"
#include "sluice/report/limit.h"
#include "sluice/report/progress.h"
#include "sluice/report/summary.h"
#include "sluice/request/buffers.h"
#include "sluice/request/pack.h"
#include "sluice/say.h"
#include "sluice/storage/storage.h"
#include "sluice/sync/sync.h"
#include "sluice/transfer/copy.h"

#define SENDER_ANSWERS      4 /* receives posted for what the receiver says */
#define SENDER_STREAM_SLOTS 2 /* requests in flight for each connection, at least */
#define SENDER_ASKS_MAX     4096
/* Pieces that are read at the same time, or wait to be sent. Direct I/O has as many under way. */
#define SENDER_AHEAD        4
/* Trees that may be open at the same time. Each needs two descriptors. */
#define SENDER_TREES_MAX    16

struct sender_options {
    struct options common;
    char *const *paths;
    int n_paths;
    const char *host;
    const char *name; /* of standard input, at the receiver */
    bool recursive, go_back_n;
    bool resume;      /* sends only what the receiver does not have yet */
    bool direct;      /* large files go past the page cache */
    uint32_t slots;   /* requests in flight */
    uint32_t streams; /* connections, at most RECORD_STREAMS_MAX; 0: as cores and size suggest */
    struct allowance_options allowance;
    uint64_t wait_ns;                /* for a receiver that is not there yet; 0: it must be there */
    const struct copy *copy;         /* NULL: this is no end of sluice cp */
    const struct sync_options *sync; /* NULL: this is no sync; else `resume` is set, too */
    struct writer *manifest;         /* NULL: none is written */
};

/* A file or directory that waits for its RESULT. */
struct sender_pending {
    struct sender_pending *next;
    uint64_t file, bytes, hole_bytes, kept_bytes;
    uint8_t hash[RECORD_HASH_BYTES];
    bool directory; /* or a link: it has no content */
    bool dropped;   /* by us; the error was printed */
    char name[];
};

/* A file about which the receiver was asked. */
struct sender_ask {
    bool answered, whole;
    bool listed;            /* the receiver tells the blocks of its file */
    struct block_list list; /* what it has told */
    bool outdated; /* since then, a file of this name was offered, which may be another one */
    uint64_t part_bytes;
    uint64_t link;   /* its number as a file with several names; 0: it has one */
    uint64_t size;   /* of the file here */
    uint64_t offers; /* files that were sent before the ASK */
    bool hashed;     /* it was read, for a sync by checksums */
    uint8_t hash[RECORD_HASH_BYTES];
    char name[];
};

/* What the walk has found, and what is still to be sent. */
struct sender_entry {
    struct sender_entry *next;
    struct tree_entry e;
    int path;     /* index in options->paths */
    bool input;   /* it is standard input */
    uint64_t ask; /* the number by which the receiver was asked about it; 0: it was not */
    char text[];  /* e.path, and behind it e.name */
};

struct sender_walk {
    int path;    /* index of the one that is walked; options->n_paths: the walk is over */
    bool inside; /* it has begun; its tree is the last one */
    bool below;  /* something was found below it */
    struct {
        struct tree *tree;
        int path;
    } trees[SENDER_TREES_MAX]; /* that are open, a ring: `oldest` and the next ones, n_trees */
    uint32_t oldest, n_trees;
    struct sender_entry *first, *last;
    uint32_t n;
    struct name_set taken; /* sync of several paths: names that were found */
};

/* The walk that only tells names, before anything is sent (sync.prune_before). */
struct sender_names {
    struct tree *tree; /* of options->paths[path]; NULL: it is not open */
    int path;
    bool over;      /* NAMED was added */
    bool unread;    /* not all can be read */
    char what[256]; /* the first that cannot, for people */
};

struct sender_resume {
    /* Asks number first .. last are in asks[number % SENDER_ASKS_MAX]; those up to `answered` have
     * answers. Numbers begin with 1; first = last + 1: none. */
    struct sender_ask *asks[SENDER_ASKS_MAX];
    uint32_t sums[SENDER_ASKS_MAX]; /* of their names, so that few names have to be compared */
    uint64_t first, last, answered;
    uint64_t ahead_bytes; /* of files whose answer, or list, waits for its turn */
    uint64_t held_blocks; /* in their lists */

    /* The file being sent: hashes of the receiver's chunks from byte `from` to byte `to`. */
    bool comparing, heard_all; /* the receiver tells hashes; it has told all of them */
    uint64_t from, to;
    uint8_t hashes[RECORD_HASHES_MAX][RECORD_HASH_BYTES]; /* of the chunk at b: [b / chunk % max] */
    uint8_t *chunk;                                       /* memory for one */
    struct source source;    /* sync by checksums: the file that is hashed */
    struct link_table links; /* files with several names that were asked about */
    struct digest *digest;
    uint64_t kept_bytes; /* of all files, for the progress bar */
    uint64_t offers;     /* files that were, or are being, sent */
    bool hashed;         /* the file that sender_receiver_has() was about has this hash */
    uint8_t hash[RECORD_HASH_BYTES];
};

/* What the file being sent shares with the receiver's. */
struct sender_delta {
    bool on;                /* the receiver has told blocks, or will */
    uint64_t ask;           /* number of the ASK whose list still comes; 0: none does */
    struct block_list list; /* what has come of it */
    uint64_t next;          /* where the receiver has what follows, as it seems */
    bool known;             /* `next` is valid */
    struct record copy;     /* of blocks that were found, not sent yet; size 0: none */
    uint8_t *window;        /* holds window_len bytes of the file, from window_at on */
    uint64_t window_at, window_len;
    uint64_t looked_bytes, astray_bytes; /* looked at byte by byte; hashed for nothing */
};

/* One of the connections. */
struct sender_stream {
    struct sluice_conn *conn; /* NULL: none */
    uint32_t in_flight;       /* requests */
    uint64_t limit_Bps;       /* that the daemon keeps it to; 0: none */
    bool open;                /* it may carry requests */
    bool shut, ended;         /* our direction is shut down; so is the peer's */
};

struct sender_streams {
    uint32_t
        wanted;    /* with the first; 1: the receiver is not asked, and requests have no numbers */
    uint32_t n;    /* list[1 .. n - 1] were opened; list[0] is the first, sender.conn */
    uint32_t last; /* that has carried the newest request */
    struct sender_stream list[RECORD_STREAMS_MAX];
    struct sluice_stats past; /* of those that were given up */
    uint64_t requests;        /* number of the newest */
    uint8_t token[RECORD_TOKEN_BYTES];
    bool heard; /* the receiver has said how many it takes */
};

/* Pieces of the file being sent that are read ahead (sender_ahead.c). */
struct sender_ahead {
    struct storage *storage; /* NULL: nothing is read ahead */
    bool on;                 /* in a run of data */
    bool failed;             /* the storage takes no more */
    int err;                 /* a negative errno that ended the run; 0: none */
    bool refused;            /* a file system has no direct I/O, which was told */
    struct storage_file file;
    struct storage_piece pieces[SENDER_AHEAD]; /* a ring: `first` and the next ones, n pieces */
    int slots[SENDER_AHEAD];                   /* the buffer of each */
    uint32_t first, n;
    uint64_t at_bytes, to_bytes; /* where the next piece begins, and the run ends */
};

struct sender {
    struct loop loop;
    const struct sender_options *options;
    struct sluice_conn *conn;

    struct buffers buffers; /* of requests */
    uint8_t *answers;       /* memory for what the receiver tells */
    struct sender_streams streams;
    uint32_t in_flight; /* on all connections */
    int slot;           /* the buffer whose request is being filled; -1: none */
    struct pack pack;

    struct sender_names names;
    struct sender_walk walk;
    struct source source;
    struct sender_resume resume;
    struct sender_delta delta;
    struct sender_ahead ahead;
    bool in_file, refused;   /* a file is being sent; the receiver has refused that file */
    bool giving_up;          /* no more files are to be sent */
    bool introduced;         /* the token was sent, if there is one */
    bool unread;             /* not all could be read */
    struct inspect inspect;  /* sync: what is read of files besides content, mode and time */
    struct link_table links; /* files with several names, one of which was sent, or is there */
    uint64_t last_link;      /* the newest number of such a file */
    uint64_t file;           /* number of the newest OFFER, DIR, LINK or HARD */
    struct sender_pending *first, *last;

    uint32_t listening; /* receives posted */
    bool connected, end_sent, shut;
    bool no_more, peer_ended; /* a receive met the end of data; after that, all have completed */
    int status;               /* negative errno that broke the connection */
    int code;                 /* exit code, the first that was not 0 */

    uint64_t total_bytes; /* of all files; 0: not known beforehand */
    char current[256];    /* name of the file being sent, for the progress bar */
    struct summary summary;
    struct progress progress;
    struct limits limits;
    struct allowance allowance;
    uint64_t port_Bps; /* what the daemon's port carries; 0: not known, or nothing depends on it */
    struct rates rates;
};

enum sender_step {
    SENDER_WORKED, /* there is more to do at once */
    SENDER_FULL,   /* all requests are in flight */
    SENDER_INPUT,  /* the stream being sent has no data now */
    SENDER_READS,  /* the storage must read first */
    SENDER_WAITS,  /* the receiver must answer first */
    SENDER_DONE,   /* END_ALL has been submitted */
};

/* Checks that options->paths can be sent, before anything is; sets *total_bytes to their size (0:
 * not known). Returns an exit code; the error is printed. */
int sender_check(const struct sender_options *o, uint64_t *total_bytes);

/* Does the next piece of work: at most one request's worth. */
enum sender_step sender_step(struct sender *s);
/* The receiver, for messages. */
static inline const char *sender_peer(const struct sender *s)
{
    const struct copy *c = s->options->copy;

    return c != NULL && c->host != NULL ? c->host : s->options->host;
}

/* What takes the reports of this end, which then has no user; NULL: it has one, or reports nothing.
 */
static inline const struct copy_report *sender_reports(const struct sender *s)
{
    return s->options->copy != NULL ? s->options->copy->report : NULL;
}

/* Where lines of JSON about files go; NULL: nowhere. */
static inline FILE *sender_lines(const struct sender *s)
{
    return copy_is_far(s->options->copy) ? NULL : options_lines(&s->options->common);
}

/* Keeps the first exit code. */
static inline void sender_failed(struct sender *s, int code)
{
    if (s->code == SAY_OK)
        s->code = code;
}

/* Sets the fields of an OFFER, DIR, LINK, HARD or ASK that say of what it is. */
static inline void sender_describe(struct record *r, const char *name, const struct stat *st)
{
    r->len_bytes = (uint32_t)strlen(name);
    r->mode = st->st_mode & 07777;
    r->mtime_s = st->st_mtim.tv_sec;
    r->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
}

/* ---- sender_attributes.c: what a sync keeps besides content, mode and time ----------------------
 */

/* Bytes of a record with attributes, at most; 0: none is sent. */
uint32_t sender_attributes_room(const struct sender *s);
/* Adds the attributes of what the next record is about, for which the caller has made room. fd: of
 * the file, if it is open, else -1. counts: what cannot be read is counted. */
void sender_attributes(struct sender *s, const struct tree_entry *e, int fd, uint64_t link,
                       bool counts);
/* Whether the entry is a file with several names, and these are kept. */
bool sender_links(const struct sender *s, const struct tree_entry *e);

/* How the paths are walked through. */
struct tree_rules sender_rules(const struct sender *s);

/* ---- sender_stream.c ----------------------------------------------------------------------- */

/* Completions of the first connection that have a meaning of their own. `user` of a request is the
 * number of its buffer. */
enum { SENDER_USER_ANSWER = 1000 /* + index */, SENDER_USER_OTHER = 2000 };

/* To be called when libsluice refused a submission: the connection cannot be used any more. */
void sender_broken(struct sender *s, int err);
/* Finds how many connections the transfer is to have, once the daemon is known. Returns an exit
 * code. */
int sender_streams_begin(struct sender *s);
/* Adds the record that asks the receiver for them, for which the caller has made room. */
void sender_streams_ask(struct sender *s);
/* Takes the receiver's answer, and opens the connections. False, with *why, if it is impossible. */
bool sender_streams_heard(struct sender *s, const struct record *r, const char **why);
/* The connection for the next request; NULL: all have their part in flight. */
struct sender_stream *sender_streams_choose(struct sender *s);
/* A request is confirmed, or given up. */
void sender_streams_sent(struct sender *s, struct sender_stream *t, uint64_t buffer);
/* Takes a completion of any connection but the first. */
void sender_streams_completion(struct sender *s, const struct sluice_completion *c);
/* Divides what is allowed among the connections. */
void sender_streams_limit(struct sender *s, uint64_t rate_Bps);
/* The counters of all connections. */
void sender_streams_stats(const struct sender *s, struct sluice_stats *sum);
/* Shuts down all but the first. */
void sender_streams_shut(struct sender *s);
/* Whether that is done, and the receiver has shut them down, too. */
bool sender_streams_over(const struct sender *s);
void sender_streams_close(struct sender *s);

/* ---- sender_request.c ---------------------------------------------------------------------- */

/* Submits the request that is being filled, if a connection takes it now. */
void sender_flush(struct sender *s);
/* Makes room for one more header with `room` bytes of data. False: all slots are in flight, or the
 * connection broke. */
bool sender_room(struct sender *s, uint32_t room);
/* Opens a file that is to be sent. A sync follows no link, also if it has taken the place of a file
 * that was named. 0 or a negative errno. */
int sender_reads(const struct sender *s, struct source *f, const struct tree_entry *e);
/* Adds a hole of up to len bytes, for which there is room. */
enum sender_step sender_hole(struct sender *s, uint64_t len);

/* ---- sender_names.c: only with sync.prune_before -------------------------------------------- */

/* Whether there are names to tell before anything else. */
static inline bool sender_names_due(const struct sender *s)
{
    return s->options->sync != NULL && s->options->sync->prune_before && !s->names.over;
}
/* Tells the next one, or that all were told. The caller has made room for a record with a name. */
void sender_names(struct sender *s);
/* All was sent. If the receiver has deleted nothing because a name could not be told, and what was
 * sent gave no reason for an error, says so. */
void sender_names_end(struct sender *s);
void sender_names_fini(struct sender *s);

/* ---- sender_walk.c ------------------------------------------------------------------------- */

/* Goes one step further, and asks about what it finds, for which the caller has made room. False:
 * the walk is over, or far enough ahead. */
bool sender_walks(struct sender *s);
/* The first entry has had its turn. */
void sender_walked(struct sender *s);
void sender_walk_fini(struct sender *s);
/* Something could not be read, and is not sent: says why. */
void sender_file_failed(struct sender *s, const char *path, const char *cause, const char *cure);

/* ---- sender_resume.c: only with options->resume -------------------------------------------- */

/* 0 or -ENOMEM. */
int sender_resume_init(struct sender *s);
void sender_resume_fini(struct sender *s);
/* Whether enough files are asked about. */
bool sender_asks_enough(const struct sender *s);
/* Asks about another file, for which the caller has made room. Returns the number of the ASK; 0: it
 * was not asked about. */
uint64_t sender_asks(struct sender *s, const struct tree_entry *e);
/* What the receiver has of the file that is to be sent next; sets delta.list. *link: the number
 * that it had, if it has several names. */
enum sender_has { SENDER_HAS_NOTHING, SENDER_HAS_PART, SENDER_HAS_ALL, SENDER_HAS_UNKNOWN };
enum sender_has sender_receiver_has(struct sender *s, const struct sender_entry *q, uint64_t *link);
/* A file of this name is offered: what the receiver was asked before does not hold any more. */
void sender_outdates(struct sender *s, const char *name);
/* Compares the next chunk of the open file. True: *step is done instead of sending; false: up to
 * *max_bytes are to be sent. */
bool sender_compares(struct sender *s, enum sender_step *step, uint64_t *max_bytes);
/* Takes an ANSWER, HAVE or BLOCKS. False, with *why, if it is impossible. */
bool sender_hears(struct sender *s, const struct record *r, const uint8_t *data, const char **why);

/* ---- sender_delta.c: only with options->sync ----------------------------------------------- */

/* Takes over what the receiver has told in answer to ASK `number`; a->list is empty then. */
void sender_delta_begin(struct sender *s, struct sender_ask *a, uint64_t number);
/* Takes BLOCKS of an ASK that has been taken over. False, with *why, if it is impossible. */
bool sender_delta_hears(struct sender *s, const struct record *r, const uint8_t *data,
                        const char **why);
void sender_delta_fini(struct sender *s);
/* Adds the next piece of the open file, up to max_bytes: what the receiver has, a hole, or DATA.
 * The caller has made room for a header. hole_bytes: of the hole that begins here. *err: 0, or a
 * negative errno of reading the file. Only with delta.on. */
enum sender_step sender_delta(struct sender *s, uint64_t max_bytes, uint64_t hole_bytes, int *err);
/* Adds the COPY that waits, if there is one. To be called before any other record of the file. */
void sender_delta_flush(struct sender *s);

/* ---- sender_ahead.c: pieces that are read behind this thread -------------------------------- */

/* Whether the next len bytes of the open file, which are data, are to be read ahead. */
bool sender_ahead_takes(const struct sender *s, uint64_t len_bytes);
/* Begins that. False: what was packed before cannot be submitted now. */
bool sender_ahead_begin(struct sender *s, uint64_t len_bytes);
/* Goes on: reads ahead, and sends what was read. Ends when all is sent, when the file is not to be
 * sent any more, or with ahead.err. Only with ahead.on. */
enum sender_step sender_ahead(struct sender *s);
/* Gives up what was read and not sent yet. */
void sender_ahead_end(struct sender *s);

/* Notes that a file, or a directory, waits for its RESULT. False: no memory. */
bool sender_expect(struct sender *s, const char *name, bool directory);
/* Reports, for programs, that something is not at the receiver as it should be. code, cause: as
 * struct copy_report has them. */
void sender_report_failed(const struct sender *s, const char *name, uint32_t code,
                          const char *cause);
/* Reads a request of the receiver. */
void sender_results(struct sender *s, const uint8_t *bytes, uint64_t len);
void sender_forget(struct sender *s);

/* Sends all files. Returns an exit code; errors are printed. */
int sender_run(struct sender *s, const struct sender_options *o);

#endif
