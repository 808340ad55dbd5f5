/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes large files behind the thread that moves data: that thread neither waits for a
 * disk nor hashes.
 *
 * Model: a file has a queue of pieces. A thread takes a file, does its next piece, and lets the
 * file go, so the pieces of a file are done and hashed in order, and several files are served at
 * the same time. More than one thread for a file would not help: file systems write a file under
 * its lock, and for reads the kernel is asked to read ahead. With direct I/O several pieces of a
 * file are under way at the same time, by io_uring if there is one (ring.h), and they are hashed in
 * order nevertheless.
 *
 * Owner: one thread, which alone calls these functions. From storage_put() until storage_take()
 * returns the piece, or storage_cancel() its file, the storage owns the piece, its memory, and the
 * descriptor and the digest of its file.
 *
 * Errors: the first piece of a file that fails has its errno; those behind it are not done
 * (-ECANCELED). So all before a piece without an error is read or written.
 */
#ifndef SLUICE_COMMAND_STORAGE_H
#define SLUICE_COMMAND_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/digest.h"

/* Fewer bytes are not worth handing over: two wake-ups take about 20 us, as the hash and the copy
 * of 50 KiB. */
#define STORAGE_PIECE_MIN (1u << 20)

struct storage;
struct storage_file;

struct storage_piece {
    /* Set by the owner. */
    struct storage_file *file;
    void *owner;
    uint8_t *data;
    uint64_t offset; /* bytes, in the file */
    uint32_t len_bytes;
    bool write;

    /* Written by the storage. */
    bool busy;           /* it belongs to the storage */
    int err;             /* 0, or a negative errno; -ENODATA: the file is shorter */
    uint32_t done_bytes; /* of it, if it was given up in the midst */
    struct storage_piece *next;
};

struct storage_file {
    int fd, direct_fd; /* of one file; direct_fd: with O_DIRECT, or -1 */
    struct digest *digest;
    uint32_t n;          /* pieces that belong to the storage; written by the owner */
    uint64_t done_bytes; /* read or written before the first error; written by the owner */

    /* Under the lock of the storage. */
    struct storage_piece *first, *last; /* that wait */
    struct storage_file *next;          /* that waits for a thread */
    bool queued, running;

    int err;      /* of the first piece that failed; of the thread that has the file */
    bool cancel;  /* the owner waits for the end of what runs; atomic */
    bool refused; /* the file system refused direct I/O; atomic */
};

/* Threads are started as they are needed, at most max_files, and at most one less than there are
 * processors for this process; with `direct`, one at least, which then waits for the disk instead
 * of the caller. NULL: that is none, or there is no memory; then the caller reads and writes
 * itself. */
struct storage *storage_create(unsigned int max_files, bool direct);
/* Ends the threads. No piece may be left. s may be NULL. */
void storage_destroy(struct storage *s);
/* Readable when storage_take() has something; -1 if s is NULL. */
int storage_fd(const struct storage *s);
/* CPU time of all its threads, ns. */
uint64_t storage_cpu_ns(const struct storage *s);

/* Opens the file of fd once more, for direct I/O. Returns a descriptor or a negative errno;
 * -EINVAL: the file system has none. */
int storage_direct(int fd, bool write);
/* Prepares a file, of which no piece is left. Its descriptors stay the caller's. */
void storage_begin(struct storage_file *f, int fd, int direct_fd, struct digest *digest);
/* Hands a piece over, with file, owner, data, offset, len_bytes and write set. 0, or -EAGAIN: no
 * thread can be started. */
int storage_put(struct storage *s, struct storage_piece *p);
/* A piece that is done, in order for each file; NULL: none now. */
struct storage_piece *storage_take(struct storage *s);
/* Takes back all pieces of the file: those that wait are not done; waits for those that are under
 * way, at most a piece of DIGEST_PIECE_BYTES, or a few with direct I/O. f->done_bytes counts what
 * was done. */
void storage_cancel(struct storage *s, struct storage_file *f);

static inline bool storage_busy(const struct storage_file *f)
{
    return f->n > 0;
}
/* Whether direct I/O was given up because the file system refuses it. */
static inline bool storage_refused(const struct storage_file *f)
{
    return __atomic_load_n(&f->refused, __ATOMIC_RELAXED);
}

#endif
