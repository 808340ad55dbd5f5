/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file on its way in: written under a temporary name next to its own, ".NAME.part-XXXXXXXX",
 * checked, then renamed.
 *
 * Invariant: until part_finish() succeeds nothing has the file's name that had it not before; after
 * part_finish() or part_discard() nothing has the temporary one. A file that is there is replaced
 * only where the sink says so, and a directory that is there is left as it is. To a stream, bytes
 * go out as they come: there is nothing to take back.
 */
#ifndef SLUICE_COMMAND_PART_H
#define SLUICE_COMMAND_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/digest.h"
#include "sluice/files/made.h"
#include "sluice/files/record.h"
#include "sluice/files/sink.h"

#define PART_WHY_MAX 192

struct part {
    struct sink *sink;
    bool open;
    int fd, dir_fd;
    char base[NAME_MAX + 1], temporary[NAME_MAX + 1];
    struct record offer;
    uint64_t at_bytes;      /* position: everything before it is written */
    uint64_t hole_bytes;    /* of those, holes */
    struct digest *digest;  /* of everything before at_bytes */
    struct made made;       /* for this sender */
    char why[PART_WHY_MAX]; /* last failure */
};

/* No memory: -ENOMEM. */
int part_init(struct part *p);
void part_fini(struct part *p);

/* All return an enum record_code; p->why says more. name: checked, 0-terminated. */
enum record_code part_open(struct part *p, struct sink *sink, const char *name,
                           const struct record *offer);
enum record_code part_write(struct part *p, const uint8_t *data, uint32_t len_bytes);
enum record_code part_hole(struct part *p, uint64_t len_bytes);
/* Compares with what the sender says the file is; gives it mode, time and name. */
enum record_code part_finish(struct part *p, const struct record *end);
/* Removes it, if it is open. */
void part_discard(struct part *p);

/* Makes a directory, and settles mode and time of one that was made for this sender. */
enum record_code part_directory(struct part *p, struct sink *sink, const char *name,
                                const struct record *r);

#endif
