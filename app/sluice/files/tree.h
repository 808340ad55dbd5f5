/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies below a file or directory that shall be sent, in the order of names: files as they
 * come, a directory after what is in it. Symbolic links are followed only where the user names
 * them.
 */
#ifndef SLUICE_COMMAND_TREE_H
#define SLUICE_COMMAND_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

enum tree_kind {
    TREE_FILE,    /* a regular file, or, if named by the user, a pipe or device */
    TREE_DIR,     /* left behind: all that is in it came before */
    TREE_SKIPPED, /* neither file nor directory: why says what */
    TREE_FAILED,  /* error (errno) */
};

struct tree_entry {
    enum tree_kind kind;
    const char *path; /* to open it */
    const char *name; /* relative, for the other side */
    const char *why;
    int error;
    bool walked; /* found by walking, not named by the user */
    struct stat st;
};

struct tree;

/* NULL with errno. */
struct tree *tree_open(const char *path);
void tree_close(struct tree *t);
/* The next entry, valid until the next call; false after the last. */
bool tree_next(struct tree *t, struct tree_entry *out);

/* Where in path the name for the other side begins: its last component without slashes behind it;
 * nothing for ".", ".." and "/", whose content stands for itself. */
void tree_base(const char *path, const char **base, int *base_len);

#endif
