/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender of files: one connection, its requests in flight, the files that wait for their RESULT.
 *
 * Files become records (sender_file.c), records fill requests (pack.h), and requests are sent.
 * RESULTs come back in the order of the files (sender_result.c). The transfer has succeeded when
 * END_ALL is sent and no file waits.
 */
#ifndef SLUICE_COMMAND_SENDER_H
#define SLUICE_COMMAND_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/source.h"
#include "sluice/files/tree.h"
#include "sluice/loop.h"
#include "sluice/options.h"
#include "sluice/perf/rates.h"
#include "sluice/say.h"
#include "sluice/transfer/copy.h"
#include "sluice/transfer/pack.h"
#include "sluice/transfer/progress.h"
#include "sluice/transfer/summary.h"

#define SENDER_SLOTS_MAX 64
#define SENDER_ANSWERS   4 /* receives posted for RESULTs */

struct sender_options {
    struct options common;
    char *const *paths;
    int n_paths;
    const char *host;
    const char *name; /* of standard input, at the receiver */
    bool recursive, go_back_n;
    uint32_t slots;          /* requests in flight */
    uint64_t wait_ns;        /* for a receiver that is not there yet; 0: it must be there */
    const struct copy *copy; /* NULL: this is no end of sluice cp */
};

/* A file or directory that waits for its RESULT. */
struct sender_pending {
    struct sender_pending *next;
    uint64_t file, bytes, hole_bytes;
    uint8_t hash[RECORD_HASH_BYTES];
    bool directory;
    bool dropped; /* by us; the error was printed */
    char name[];
};

struct sender {
    struct loop loop;
    const struct sender_options *options;
    struct sluice_conn *conn;

    uint8_t *memory;             /* slots of requests, then memory for answers */
    bool busy[SENDER_SLOTS_MAX]; /* the slot's request is in flight: the daemon reads it */
    uint32_t n_slots, in_flight;
    int slot; /* the slot whose request is being filled; -1: none */
    struct pack pack;

    int path; /* index in options->paths of the path being sent */
    struct tree *tree;
    struct source source;
    bool in_file, refused; /* a file is being sent; the receiver has refused that file */
    bool giving_up;        /* no more files are to be sent */
    bool introduced;       /* the token was sent, if there is one */
    uint64_t file;         /* number of the newest OFFER or DIR */
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
    struct rates rates;
};

enum sender_step {
    SENDER_WORKED, /* there is more to do at once */
    SENDER_FULL,   /* all requests are in flight */
    SENDER_INPUT,  /* the stream being sent has no data now */
    SENDER_DONE,   /* END_ALL has been submitted */
};

/* Checks that options->paths can be sent, before anything is; sets *total_bytes to their size (0:
 * not known). Returns an exit code; the error is printed. */
int sender_check(const struct sender_options *o, uint64_t *total_bytes);

/* Does the next piece of work: at most one request's worth. */
enum sender_step sender_step(struct sender *s);
/* Submits the request that is being filled. */
void sender_flush(struct sender *s);
/* The receiver, for messages. */
static inline const char *sender_peer(const struct sender *s)
{
    const struct copy *c = s->options->copy;

    return c != NULL && c->host != NULL ? c->host : s->options->host;
}

/* To be called when libsluice refused a submission: the connection cannot be used any more. */
void sender_broken(struct sender *s, int err);
/* Keeps the first exit code. */
static inline void sender_failed(struct sender *s, int code)
{
    if (s->code == SAY_OK)
        s->code = code;
}

/* Notes that a file, or a directory, waits for its RESULT. False: no memory. */
bool sender_expect(struct sender *s, const char *name, bool directory);
/* Reads a request of RESULT records. */
void sender_results(struct sender *s, const uint8_t *bytes, uint64_t len);
void sender_forget(struct sender *s);

/* Sends all files. Returns an exit code; errors are printed. */
int sender_run(struct sender *s, const struct sender_options *o);

#endif
