/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a far end that sends tells a near end that moves no files itself, of a copy between two
 * other hosts: data of PROGRESS, FILE, FAILED and SUMMARY (doc/file-protocol.md).
 *
 * Invariant: each ..._decode() accepts exactly what ..._encode() can make: lengths that fit, sizes
 * that a file may have, names without a zero byte. Names and texts may have any other byte, and are
 * not fit for a terminal.
 */
#ifndef SLUICE_COMMAND_MESSAGE_REPORT_H
#define SLUICE_COMMAND_MESSAGE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/cp/message.h"
#include "sluice/report/summary.h"

#define MESSAGE_PROGRESS_MIN 25 /* bytes before the name */
#define MESSAGE_CURRENT_MAX  255
#define MESSAGE_FILE_MIN     9 /* 8 before the name, which is not empty */
#define MESSAGE_FAILED_MIN   5 /* 3 before the name and the cause, neither of which is empty */
#define MESSAGE_SUMMARY_MIN  (124 + 8 * LIMITS + 3)
#define MESSAGE_SUMMARY_MAX  (MESSAGE_SUMMARY_MIN + 3 * 63)

/* How far it is. */
struct message_progress {
    uint64_t done_bytes, total_bytes;   /* of all files; total 0: not known */
    uint64_t repeats;                   /* units sent again */
    enum limit limit;                   /* what limits the transfer now; LIMITS: not known */
    char name[MESSAGE_CURRENT_MAX + 1]; /* of the file being sent; "": none */
};

/* A file that is in its place. */
struct message_file {
    uint64_t bytes;
    char name[RECORD_NAME_MAX + 1];
};

/* A file, directory or link that is not, or not as it should be. */
struct message_failed {
    uint8_t code; /* of the RESULT, which nobody has said; 0: the user was told, or need not be */
    char name[RECORD_NAME_MAX + 1];
    char cause[RECORD_MESSAGE_MAX + 1];
};

/* Each ..._encode() writes the data of a message, at most MESSAGE_DATA_MAX bytes, and returns how
 * many. Names and texts that are too long are cut. */
size_t message_progress_encode(uint8_t out[MESSAGE_DATA_MAX], const struct message_progress *p);
size_t message_file_encode(uint8_t out[MESSAGE_DATA_MAX], const char *name, uint64_t bytes);
size_t message_failed_encode(uint8_t out[MESSAGE_DATA_MAX], uint8_t code, const char *name,
                             const char *cause);
/* s->start_ns and end_ns are told as the time between them, and the CPU time of this process. */
size_t message_summary_encode(uint8_t out[MESSAGE_DATA_MAX], const struct summary *s);

/* m: one that message_decode() has accepted. NULL, or what is wrong (a constant string). */
const char *message_progress_decode(struct message_progress *p, const struct message *m);
const char *message_file_decode(struct message_file *f, const struct message *m);
const char *message_failed_decode(struct message_failed *f, const struct message *m);
/* Sets what the message tells; leaves the rest of *s as it is. start_ns is 0. */
const char *message_summary_decode(struct summary *s, const struct message *m);

#endif
