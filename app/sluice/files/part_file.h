/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file that is being received: written under the temporary name ".NAME.part-XXXXXXXX" in its
 * final directory, checked, then renamed.
 *
 * Invariant: until part_file_finish() succeeds, nothing new has the final name; after
 * part_file_finish() or part_file_discard(), nothing has the temporary name. An existing file is
 * replaced only if the destination says so; an existing directory is left as it is. To a stream,
 * bytes are written as they come and cannot be taken back.
 */
#ifndef SLUICE_COMMAND_PART_FILE_H
#define SLUICE_COMMAND_PART_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/destination.h"
#include "sluice/files/digest.h"
#include "sluice/files/made_dirs.h"
#include "sluice/files/record.h"

#define PART_FILE_WHY_MAX 192

struct part_file {
    struct destination *destination;
    bool open;
    int fd, dir_fd;
    char base[NAME_MAX + 1], temporary[NAME_MAX + 1];
    struct record offer;
    uint64_t at_bytes;           /* position: everything before it is written */
    uint64_t hole_bytes;         /* bytes before at_bytes that are holes */
    struct digest *digest;       /* of everything before at_bytes */
    struct made_dirs made;       /* directories made for this sender */
    char why[PART_FILE_WHY_MAX]; /* last failure */
};

/* 0, or -ENOMEM. */
int part_file_init(struct part_file *p);
void part_file_fini(struct part_file *p);

/* part_file_open(), part_file_write() and part_file_hole() return RECORD_OK, or another code with
 * the details in p->why ("": none). name: checked by name_check(), and 0-terminated. */
enum record_code part_file_open(struct part_file *p, struct destination *destination,
                                const char *name, const struct record *offer);
enum record_code part_file_write(struct part_file *p, const uint8_t *data, uint32_t len_bytes);
enum record_code part_file_hole(struct part_file *p, uint64_t len_bytes);
/* Compares size and hash with the sender's END_FILE; sets mode, time and final name. */
enum record_code part_file_finish(struct part_file *p, const struct record *end);
/* Closes the file and removes its temporary name, if it is open. */
void part_file_discard(struct part_file *p);

/* Makes a directory if it is missing; sets its mode and time if it was made for this sender. */
enum record_code part_file_directory(struct part_file *p, struct destination *destination,
                                     const char *name, const struct record *r);

#endif
