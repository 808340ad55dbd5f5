/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file on its way in: written under a temporary name next to its own, ".NAME.part-XXXXXXXX",
 * checked, then renamed.
 *
 * Invariant: until part_file_finish() succeeds nothing has the file's name that had it not before;
 * after part_file_finish() or part_file_discard() nothing has the temporary one. A file that is
 * there is replaced only where the sink says so, and a directory that is there is left as it is. To
 * a stream, bytes go out as they come: there is nothing to take back.
 */
#ifndef SLUICE_COMMAND_PART_FILE_H
#define SLUICE_COMMAND_PART_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/digest.h"
#include "sluice/files/made_dirs.h"
#include "sluice/files/record.h"
#include "sluice/files/sink.h"

#define PART_FILE_WHY_MAX 192

struct part_file {
    struct sink *sink;
    bool open;
    int fd, dir_fd;
    char base[NAME_MAX + 1], temporary[NAME_MAX + 1];
    struct record offer;
    uint64_t at_bytes;           /* position: everything before it is written */
    uint64_t hole_bytes;         /* of those, holes */
    struct digest *digest;       /* of everything before at_bytes */
    struct made_dirs made;       /* for this sender */
    char why[PART_FILE_WHY_MAX]; /* last failure */
};

/* No memory: -ENOMEM. */
int part_file_init(struct part_file *p);
void part_file_fini(struct part_file *p);

/* All return an enum record_code; p->why says more. name: checked, 0-terminated. */
enum record_code part_file_open(struct part_file *p, struct sink *sink, const char *name,
                                const struct record *offer);
enum record_code part_file_write(struct part_file *p, const uint8_t *data, uint32_t len_bytes);
enum record_code part_file_hole(struct part_file *p, uint64_t len_bytes);
/* Compares with what the sender says the file is; gives it mode, time and name. */
enum record_code part_file_finish(struct part_file *p, const struct record *end);
/* Removes it, if it is open. */
void part_file_discard(struct part_file *p);

/* Makes a directory, and settles mode and time of one that was made for this sender. */
enum record_code part_file_directory(struct part_file *p, struct sink *sink, const char *name,
                                     const struct record *r);

#endif
