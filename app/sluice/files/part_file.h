/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file that is being received: written under a temporary name (part_name.h) in its final
 * directory, checked, then renamed.
 *
 * Invariant: until part_file_finish() succeeds, nothing new has the final name; after
 * part_file_finish() or part_file_discard(), nothing has the temporary name. An existing file is
 * replaced only if the destination says so; an existing directory is left as it is. To a stream,
 * bytes are written as they come and cannot be taken back.
 *
 * What an interrupted transfer has left can be resumed. Nothing in it is trusted: the sender gets a
 * hash of each chunk (RECORD_CHUNK_BYTES) and says which chunks are right; part_file_keep() reads
 * those again for the hash of the whole file, and all others are written over. In a sync, pieces
 * may also come from the file that is to be replaced, the basis; part_file_copy() reads those for
 * the hash, too.
 */
#ifndef SLUICE_COMMAND_PART_FILE_H
#define SLUICE_COMMAND_PART_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sluice/attributes/settle.h"
#include "sluice/files/destination.h"
#include "sluice/files/digest.h"
#include "sluice/files/made_dirs.h"
#include "sluice/files/name.h"
#include "sluice/files/part_name.h"
#include "sluice/files/record.h"

#define PART_FILE_WHY_MAX 192
#define PART_FILE_AHEAD   (64u << 20) /* bytes hashed before the sender has compared them */

struct part_file {
    struct destination *destination;
    bool open;
    int fd;
    int dir_fd; /* where it is to be: of `dir`, or of the destination */
    char base[NAME_MAX + 1];
    struct name_dir dir;
    struct part_name temporary; /* "": nothing has it */
    bool brief;                 /* it is part_name_brief()'s */
    struct record offer;
    uint64_t at_bytes;   /* position: everything before it is written, or kept */
    uint64_t hole_bytes; /* bytes before at_bytes that are holes */
    uint64_t kept_bytes; /* bytes before at_bytes that were there already */
    uint64_t part_bytes; /* what the part file had at the beginning, in whole chunks */
    uint64_t room_bytes; /* destination_room() */
    int basis_fd;        /* the file that has the name, if pieces are copied from it; -1: none */
    struct stat before;  /* what had the name, with destination->sync */
    bool there;          /* something had */
    struct stat placed;  /* the file itself, once part_file_finish() has succeeded */
    char name[RECORD_NAME_MAX + 1]; /* with destination->sync: the name in the directory */
    uint64_t hashed_bytes; /* the chunks before it were hashed for the sender, or written */
    struct digest *digest; /* of everything before at_bytes */
    struct digest *chunk;  /* of a chunk */
    struct settle *settle; /* with destination->sync: what is kept besides mode and time */
    struct made_dirs made; /* directories made for this sender */
    struct stat cleaned;   /* the directory that was last looked through for old part files */
    char owner[PART_NAME_OWNER_MAX]; /* the sender, whose part files no other sender resumes; "":
                                        nobody resumes them */
    char why[PART_FILE_WHY_MAX];     /* last failure */
};

/* 0, or -ENOMEM. */
int part_file_init(struct part_file *p);
void part_file_fini(struct part_file *p);

/* What there is of the file that the sender asks about: bytes of a part file, in whole chunks; or
 * *whole: it is there, with this size and time, or, in a sync by checksums, with this size and hash
 * (NULL: not known). In a sync, a file that is there gets the mode and time of `ask`; otherwise no
 * file is changed. *basis_fd: a file that may share content with it, for the caller to close; -1:
 * none. */
uint64_t part_file_ask(struct part_file *p, struct destination *destination, const char *name,
                       const struct record *ask, const uint8_t *hash, bool *whole, int *basis_fd);

/* part_file_open(), part_file_write(), part_file_hole(), part_file_keep() and part_file_copy()
 * return RECORD_OK, or another code with the details in p->why ("": none). name: checked by
 * name_check(), and 0-terminated. */
enum record_code part_file_open(struct part_file *p, struct destination *destination,
                                const char *name, const struct record *offer);
enum record_code part_file_write(struct part_file *p, const uint8_t *data, uint32_t len_bytes);
/* The caller has these bytes hashed and written at at_bytes, by p->fd and p->digest, before it
 * calls another function that is about the file. */
enum record_code part_file_pass(struct part_file *p, uint32_t len_bytes);
enum record_code part_file_hole(struct part_file *p, uint64_t len_bytes);
/* Keeps so many bytes, whole chunks that were hashed for the sender. */
enum record_code part_file_keep(struct part_file *p, uint64_t len_bytes);
/* Copies so many bytes of the basis, from byte `from` on. */
enum record_code part_file_copy(struct part_file *p, uint64_t from, uint64_t len_bytes);
/* Hashes the next chunks that were there, at most `max`, at most PART_FILE_AHEAD beyond at_bytes.
 * Returns their number, with the offset of the first; 0 also if they cannot be read. */
uint32_t part_file_hash(struct part_file *p, uint8_t *hashes, uint32_t max, uint64_t *offset);
/* True if all chunks that were there have been hashed. */
static inline bool part_file_hashed(const struct part_file *p)
{
    return p->hashed_bytes >= p->part_bytes;
}
/* Compares size and hash with the sender's END_FILE; sets mode, time and final name. */
enum record_code part_file_finish(struct part_file *p, const struct record *end);
/* Closes the file and removes its temporary name, if it is open. */
void part_file_discard(struct part_file *p);
/* Unless a file is open, closes its directory: the next file's is looked up by its path again. */
void part_file_rest(struct part_file *p);
/* The transfer was interrupted: closes the file, and leaves what is worth it for a later one. True
 * if it was left. */
bool part_file_leave(struct part_file *p);

/* Notes in p->why that the name is that of a part file (part_name_is()). Returns the code. */
enum record_code part_file_reserved(struct part_file *p);
/* Notes in p->why that `what` failed. Returns the code for the positive errno. */
enum record_code part_file_failed(struct part_file *p, const char *what, int err);

/* Makes a directory if it is missing; sets its mode and time if it was made for this sender. */
enum record_code part_file_directory(struct part_file *p, struct destination *destination,
                                     const char *name, const struct record *r);

#endif
