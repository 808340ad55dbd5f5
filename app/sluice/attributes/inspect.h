/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the attributes of a file that is to be sent, as items of an ATTR record. */
#ifndef SLUICE_COMMAND_INSPECT_H
#define SLUICE_COMMAND_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sluice/attributes/attributes.h"
#include "sluice/attributes/ids.h"
#include "sluice/attributes/loss.h"

struct inspect {
    uint32_t chosen; /* enum attribute_choice; 0: nothing is read */
    bool root;       /* this is root, which sees all extended attributes */
    struct ids users, groups;
    struct attribute_list list; /* of the newest file */
    uint16_t flags;             /* enum record_flag of its ATTR */
    struct losses losses;
};

void inspect_init(struct inspect *i, uint32_t chosen);
void inspect_fini(struct inspect *i);
/* Bytes of the items of a file, at most. */
uint32_t inspect_max_bytes(const struct inspect *i);
/* Whether a file must be opened, maybe by O_PATH, to read what was chosen. */
bool inspect_opens(const struct inspect *i);
/* Begins with a file: takes what *st has. link: its number as a hard link; 0: it is none. */
void inspect_stat(struct inspect *i, const struct stat *st, uint64_t link);
/* Reads the rest, from the open file, or with fd a negative errno fails with that. 0, or the
 * negative errno of what could not be read; the items are those that could. */
int inspect_open(struct inspect *i, int fd, const struct stat *st);

#endif
