/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between the two ends of `sluice cp`, over the pipes of the remote shell
 * (doc/file-protocol.md): 8 bytes of header, big-endian, then len_bytes of data.
 *
 * Invariant: message_decode() accepts only what message_encode() can make. Nothing else reads or
 * writes headers. Magic and version have the same place in every version. What is in START is read
 * here, what is in the messages of a far end that reports in message_report.h.
 */
#ifndef SLUICE_COMMAND_MESSAGE_H
#define SLUICE_COMMAND_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/attributes/attributes.h"
#include "sluice/files/record.h"

#define MESSAGE_MAGIC        0x534c4350u /* "SLCP" */
#define MESSAGE_VERSION      3
#define MESSAGE_HEADER_BYTES 8
#define MESSAGE_DATA_MAX     4610 /* of FAILED, which is the longest */
#define MESSAGE_BYTES_MAX    (MESSAGE_HEADER_BYTES + MESSAGE_DATA_MAX)
#define MESSAGE_START_BYTES  40
#define MESSAGE_READY_BYTES  3
#define MESSAGE_TEXT_MAX     2047
#define MESSAGE_PATH_MAX     4095
#define MESSAGE_ORIGIN_MAX   64

enum message_type {
    MESSAGE_HELLO = 1, /* far end, first: text, its version of Sluice */
    MESSAGE_START,     /* near end, first: what is to be done */
    MESSAGE_PATH,      /* near end: a path of the far host: the target, or one of the sources */
    MESSAGE_ADDRESS,   /* receiver: an address where it can be reached, and its network */
    MESSAGE_GO,        /* near end: the far end knows all that it needs */
    MESSAGE_READY,    /* far end, as the receiver: it accepts on this service; what its target is */
    MESSAGE_ERROR,    /* far end: a line for people */
    MESSAGE_NOTE,     /* far end: a line for people that is no error */
    MESSAGE_END,      /* far end, last: its exit code */
    MESSAGE_ITEM,     /* far receiver: a line for standard output, of what it changes */
    MESSAGE_RULE,     /* near end: a rule of what takes part in a sync: "- *.o" */
    MESSAGE_CHOSEN,   /* near end: a name that takes part in a sync, and no other does */
    MESSAGE_ASKED,    /* near end, to a far receiver: a name that its sender may use */
    MESSAGE_ORIGIN,   /* near end, to a far receiver: stands for the host that sends */
    MESSAGE_LIMIT,    /* near end, to a far sender: the calendar of what it may send */
    MESSAGE_PROGRESS, /* far sender that reports: how far it is */
    MESSAGE_FILE,     /* far sender that reports files: a file is in its place */
    MESSAGE_FAILED,   /* far sender that reports: a file is not */
    MESSAGE_SUMMARY,  /* far sender that reports: how all ended */
    MESSAGE_TYPES,
};

enum message_flag {
    MESSAGE_PULL = 1,        /* the far end sends; else it receives */
    MESSAGE_OVERWRITE = 2,   /* far receiver: it replaces existing files */
    MESSAGE_FSYNC = 4,       /* far receiver: it syncs files to the disk */
    MESSAGE_DIRECTORY = 8,   /* far receiver: the target must be a directory */
    MESSAGE_RECURSIVE = 16,  /* far sender: it sends directories */
    MESSAGE_GO_BACK_N = 32,  /* far sender */
    MESSAGE_ONE_FILE = 64,   /* far sender: the near end takes one file, and no directory */
    MESSAGE_QUIET = 128,     /* the far end sends no NOTE */
    MESSAGE_RESUME = 256,    /* far sender: it sends only what the near end does not have */
    MESSAGE_SYNC = 512,      /* the target is to become as the sources */
    MESSAGE_DRY_RUN = 1024,  /* sync: nothing is sent or changed */
    MESSAGE_CHECKSUM = 2048, /* sync: files are compared by content */
    MESSAGE_DELETE = 4096,   /* sync, far receiver: it deletes what the sender does not have */
    MESSAGE_ITEMIZE = 8192,  /* sync, far receiver: it sends ITEM */
    MESSAGE_REPORT = 16384,  /* far sender: it says PROGRESS, FAILED and SUMMARY */
    MESSAGE_FILES = 32768,   /* far sender that reports: it says FILE, too */
    MESSAGE_DELETE_BEFORE = 65536, /* sync, with DELETE: before anything is sent */
    MESSAGE_WHOLE_FILES = 262144,  /* sync: a changed file is sent whole */
    MESSAGE_DIRECT = 524288,       /* the far end has large files go past the page cache */
    MESSAGE_SYNC_FLAGS = MESSAGE_DRY_RUN | MESSAGE_CHECKSUM | MESSAGE_DELETE | MESSAGE_ITEMIZE |
                         MESSAGE_DELETE_BEFORE | MESSAGE_WHOLE_FILES,
    MESSAGE_FLAGS = 131071 | MESSAGE_WHOLE_FILES | MESSAGE_DIRECT,
};

struct message {
    uint8_t type; /* enum message_type */
    uint16_t len_bytes;
    const uint8_t *data;
};

struct message_start {
    uint8_t token[RECORD_TOKEN_BYTES];
    uint32_t flags;     /* enum message_flag */
    uint32_t buffers;   /* requests in flight, or posted */
    uint32_t streams;   /* connections of a far sender, at most RECORD_STREAMS_MAX; 0: it chooses */
    uint64_t max_bytes; /* of a file, for a far receiver; 0: it decides */
    uint16_t service;   /* of the receiver; 0: a far receiver takes any free one */
    uint16_t attributes; /* sync: enum attribute_choice, what is kept besides mode and time */
    uint32_t keep_s;     /* how long a far receiver keeps part files; 0: not at all */
};

/* Writes header and data. Returns how many bytes there are. */
size_t message_encode(uint8_t out[MESSAGE_BYTES_MAX], const struct message *m);
/*
 * Reads the message at the start of len bytes; m->data points into them. Returns the bytes that it
 * takes; 0: more must come; -EPROTONOSUPPORT: it has another version, which *version gets;
 * -EINVAL: it is wrong, and *why (a constant string) says how.
 */
int message_decode(struct message *m, const uint8_t *bytes, size_t len, uint8_t *version,
                   const char **why);

/* Copies the data of a text, which has no zero byte, and ends it with one. */
static inline void message_text(const struct message *m, char out[MESSAGE_DATA_MAX + 1])
{
    memcpy(out, m->data, m->len_bytes);
    out[m->len_bytes] = 0;
}

void message_start_encode(uint8_t out[MESSAGE_START_BYTES], const struct message_start *s);
/* m: a START that message_decode() has accepted. 0, or -EINVAL with *why. */
int message_start_decode(struct message_start *s, const struct message *m, const char **why);

#endif
