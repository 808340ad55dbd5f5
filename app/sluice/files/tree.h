/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a file or directory that is to be sent, in the order of names; a directory comes after its
 * content, and in a sync also before it. A symbolic link is followed only if the user names it; in
 * a sync, only with a slash at its end.
 */
#ifndef SLUICE_COMMAND_TREE_H
#define SLUICE_COMMAND_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sluice/files/name.h"

enum tree_kind {
    TREE_FILE,    /* a regular file, or, if named by the user, a pipe or device */
    TREE_DIR,     /* a directory; all of its content came before */
    TREE_ENTER,   /* a directory whose content follows; only with rules->sync */
    TREE_LINK,    /* a symbolic link; only with rules->sync */
    TREE_SKIPPED, /* neither file nor directory; `why` says what it is */
    TREE_FAILED,  /* it cannot be read; `error` is the errno */
};

struct tree_entry {
    enum tree_kind kind;
    const char *path; /* for open(), and for messages */
    const char *name; /* relative, for the receiver */
    const char *why;
    int error;
    bool walked;          /* found by walking, not named by the user */
    struct name_dir *dir; /* if walked: in the directory that the user named, */
    const char *below;    /* and the path there */
    struct stat st;
};

struct tree_rules {
    bool sync;     /* as rsync: of "DIR/", only what is in it has names; links are named, too */
    bool contents; /* sync: so it is of "DIR" */
    /* Whether this is passed over, a directory with all that is in it. NULL: nothing is. */
    bool (*leave_out)(void *context, const char *name, bool directory);
    void *context;
};

struct tree;

/* NULL with errno. */
struct tree *tree_open(const char *path, struct tree_rules rules);
void tree_close(struct tree *t);
/* The next entry, valid until the next call; false after the last. */
bool tree_next(struct tree *t, struct tree_entry *out);

/* Whether a file still is what the walk has seen: the same one, of the same size and time. */
bool tree_is_same(const struct tree_entry *e);

/* Passes over what is in the directory that tree_next() has just returned as TREE_ENTER. It is not
 * returned as TREE_DIR, either. */
void tree_pass(struct tree *t);

/* Reads what the link points to. Returns its length without a 0 at its end, or a negative errno. */
ssize_t tree_link(const struct tree_entry *e, char *target, size_t size);

/* The part of path that is its name for the receiver: the last component, without slashes at the
 * end. Length 0 for ".", ".." and "/": only their content has names. */
void tree_base(const char *path, const char **base, int *base_len);

#endif
