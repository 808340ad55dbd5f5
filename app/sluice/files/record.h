/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of the file protocol (doc/file-protocol.md): 64 bytes of header, big-endian, then
 * len_bytes of data. A request carries one or more of them back to back.
 *
 * Invariant: record_decode() accepts exactly what record_encode() can make: a known type, each
 * field within its limits, and zero in the fields that the type does not use. No other code reads
 * or writes headers.
 */
#ifndef SLUICE_COMMAND_RECORD_H
#define SLUICE_COMMAND_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_MAGIC        0x534c5546u /* "SLUF" */
#define RECORD_VERSION      2
#define RECORD_HEADER_BYTES 64
#define RECORD_DATA_MAX     (4u << 20) /* bytes of a DATA record */
#define RECORD_REQUEST_MAX  (RECORD_HEADER_BYTES + RECORD_DATA_MAX)
#define RECORD_NAME_MAX     4095
#define RECORD_HOLE_MAX     (64u << 20) /* bytes of one HOLE; bounds the work for one record */
#define RECORD_MESSAGE_MAX  512
#define RECORD_ANSWER_MAX   16384 /* bytes of a request that carries RESULT records */
#define RECORD_HASH_BYTES   16
#define RECORD_TOKEN_BYTES  16
#define RECORD_CHUNK_BYTES  (1u << 20) /* what a hash of HAVE covers */
#define RECORD_HASHES_MAX   64         /* hashes of one HAVE */
#define RECORD_TARGET_MAX   4095       /* bytes of what a symbolic link points to */
#define RECORD_LINK_MAX     (RECORD_NAME_MAX + 1 + RECORD_TARGET_MAX)
#define RECORD_BLOCK_MIN    512u /* bytes of a block, which are a multiple of it */
#define RECORD_BLOCK_MAX    (1u << 20)
#define RECORD_BLOCK_BYTES  11          /* of one block in BLOCKS: weak sum (5), hash (6) */
#define RECORD_BLOCKS_MAX   1024        /* blocks of one BLOCKS */
#define RECORD_LIST_MAX     (1u << 20)  /* blocks of one file */
#define RECORD_COPY_MAX     (64u << 20) /* bytes of one COPY; bounds the work for one record */
#define RECORD_ATTR_MAX     (1u << 20)  /* bytes of the attributes of a file */
#define RECORD_STREAMS_MAX  16u         /* connections of one transfer */

enum record_flag {
    RECORD_SIZE_UNKNOWN = 1, /* OFFER */
    RECORD_RESUME = 2,       /* OFFER: the receiver says what it has of the file */
    RECORD_COPIES = 4,       /* OFFER: some of the file is copied from the receiver's own */
    RECORD_SOLID = 8,        /* OFFER: the file has no holes */
    RECORD_WHOLE = 1,        /* ANSWER: the receiver has the file */
    RECORD_LISTED = 2,       /* ANSWER: BLOCKS follow for the file that has the name */
    RECORD_LAST = 1,         /* HAVE, BLOCKS: no other one follows for this file */
    RECORD_HASHED = 1,       /* ASK: the hash of the content stands before the name */
    RECORD_BEGIN = 1,        /* DIR: what is in it follows, then a DIR without this flag; NAME: it
                                is a directory, and all names in it are told */
    RECORD_UNREAD = 1,       /* END_ALL, NAMED: the sender could not read all that it was to send */
    RECORD_ALL_ACLS = 1,     /* ATTR: the file has these ACLs and no others */
    RECORD_ALL_XATTRS = 2,   /* ATTR: it has these extended attributes and no others */
};

enum record_type {
    RECORD_OFFER = 1, /* name, mode, mtime, size: a file follows */
    RECORD_DATA,      /* offset, data */
    RECORD_HOLE,      /* offset, size: that many zeros */
    RECORD_END_FILE,  /* size, hash: the file is whole */
    RECORD_DROP_FILE, /* the sender gives the file up */
    RECORD_DIR,       /* name, mode, mtime: a directory; sent after its content */
    RECORD_END_ALL,   /* size: number of OFFER, DIR, LINK and HARD records before it */
    RECORD_RESULT,    /* code, message: how a file or directory ended at the receiver */
    RECORD_TOKEN,     /* token: the sender is the one that the receiver waits for; comes first */
    RECORD_ASK,       /* name, mode, mtime, size: what does the receiver have of this file? */
    RECORD_ANSWER,    /* size: bytes of it in a part file; flag: it has the whole file */
    RECORD_HAVE,      /* offset, hashes of the chunks from there on that the part file has */
    RECORD_KEEP,      /* offset, size: these chunks of the part file are right */
    RECORD_LINK,      /* name, target, mtime: a symbolic link */
    RECORD_NAME,      /* name: something that is not sent, so what has its name stays */
    RECORD_BLOCKS,    /* offset, size of a block, blocks of the file that has the name */
    RECORD_COPY,      /* offset, size, from: a piece that the receiver's file has */
    RECORD_ATTR,      /* attributes of what the next record is about (attributes.h) */
    RECORD_HARD,      /* name, mode, mtime, size; offset: number of the link: a further name of a
                         file that came before */
    RECORD_NAMED,     /* all names were told by NAME: what has none may be deleted */
    RECORD_STREAMS,   /* token, size: the sender would use so many connections for the transfer; the
                         receiver takes so many */
    RECORD_JOIN,      /* token, size: this connection is that number of the transfer whose STREAMS
                         had this token; the receiver says the same, if it takes it */
    RECORD_TYPES,
};

enum record_code {
    RECORD_OK = 0,
    RECORD_BAD_NAME,   /* the name is refused */
    RECORD_IN_THE_WAY, /* something of another kind has the name */
    RECORD_DENIED,     /* no permission */
    RECORD_NO_SPACE,   /* disk or quota is full */
    RECORD_IO,         /* any other failure of the file system */
    RECORD_CORRUPT,    /* size or hash differ */
    RECORD_ONE_FILE,   /* the receiver takes a single file and has one */
    RECORD_DROPPED,    /* the sender gave the file up */
    RECORD_EXISTS,     /* a file has the name, and the receiver does not replace files */
    RECORD_TOO_LARGE,  /* larger than the receiver takes */
    RECORD_CODES,
};

struct record {
    uint8_t type;       /* enum record_type */
    uint16_t flags;     /* enum record_flag */
    uint32_t len_bytes; /* of data after the header */
    uint32_t mode;      /* OFFER, DIR, ASK, HARD: permission bits; RESULT: enum record_code */
    uint64_t file;      /* number of the OFFER, DIR, LINK or HARD on its connection, from 1; ASK,
                           ANSWER, BLOCKS: number of the ASK, from 1; END_ALL, NAME, NAMED, ATTR: 0 */
    uint64_t request; /* the first record of a request, where several connections share a transfer:
                         number of the request, from 1; else 0 */
    uint64_t offset;  /* DATA, HOLE, HAVE, KEEP, COPY: bytes; BLOCKS: in the receiver's file; HARD:
                         number of the link, from 1 */
    uint64_t size;    /* bytes of the file, HOLE, KEEP or COPY, or of a block of BLOCKS; END_ALL:
                         number of OFFER, DIR, LINK and HARD; STREAMS: number of connections; JOIN:
                         number of this one, from 2 */
    uint64_t from;    /* COPY: bytes, in the receiver's file; BLOCKS: seed of the hashes */
    int64_t mtime_s;  /* OFFER, DIR, LINK, ASK, HARD */
    uint32_t mtime_ns;
    uint8_t hash[RECORD_HASH_BYTES]; /* END_FILE: XXH3-128 of the content, canonical; TOKEN,
                                        STREAMS, JOIN: the token */
};

/* Writes the header. */
void record_encode(uint8_t header[RECORD_HEADER_BYTES], const struct record *r);

/*
 * Reads the record at the start of len bytes. Returns 0 with the header in *r; r->len_bytes of data
 * follow the header. Returns -EINVAL if the record is wrong; *why (a constant string) says how.
 */
int record_decode(const uint8_t *bytes, size_t len, struct record *r, const char **why);

/* Writes the number of a request into its first header, which record_encode() has written without
 * one. */
void record_number(uint8_t header[RECORD_HEADER_BYTES], uint64_t request);
/* The number in the first header of a request of len bytes; 0: it has none. */
uint64_t record_number_of(const uint8_t *bytes, size_t len);

/* For people: what a code means, where no more precise cause is known, and what cures it. */
const char *record_code_cause(uint32_t code);
const char *record_code_cure(uint32_t code);

#endif
