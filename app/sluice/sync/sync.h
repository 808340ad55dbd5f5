/* SPDX-License-Identifier: BSD-3-Clause */
/* What `sluice sync` is to do, for both its ends, and what the receiver notes meanwhile. */
#ifndef SLUICE_COMMAND_SYNC_H
#define SLUICE_COMMAND_SYNC_H

#include <stdbool.h>

#include "sluice/attributes/link_table.h"
#include "sluice/attributes/settle.h"
#include "sluice/sync/chosen.h"
#include "sluice/sync/filter.h"
#include "sluice/sync/name_set.h"

struct sync_options {
    bool dry_run;                /* nothing is sent, and nothing changed */
    bool checksum;               /* a file is compared by its content, not by size and time */
    bool whole_files;            /* a changed file is sent whole */
    bool prune;                  /* the receiver removes what the sender does not have, */
    bool prune_before;           /* not at the end, but before anything is sent */
    bool itemize;                /* the receiver says what it changes, by say() */
    uint32_t attributes;         /* what is kept besides mode and time: enum attribute_choice */
    const struct filter *filter; /* what takes part; NULL: all does */
    const struct chosen *chosen; /* the only names that take part; NULL: all do */
    bool push;                   /* the near end sends: for the arrow of an itemized line */
    void *context;
    void (*say)(void *context, const char *line); /* fit for a terminal */
};

/* Kinds of names in a set. */
enum sync_kind {
    SYNC_SEEN = 's',      /* the sender has something of this name, which stays here */
    SYNC_DIRECTORY = 'd', /* it is a directory, whose content the sender has named */
};

/* The receiver's side of one sync. */
struct sync {
    const struct sync_options *options; /* NULL: this is no sync */
    struct name_set names;              /* "" is the target itself */
    bool named;                         /* all names have come (prune_before) */
    struct settle settle;               /* what files get besides content, mode and time */
    struct link_files links;            /* files with several names */
};

#endif
