/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removes files, and directories with what is in them.
 *
 * Invariant: nothing outside of the directory is touched. Each step is relative to an open
 * directory and follows no symbolic link, and nothing that is mounted in there is entered.
 */
#ifndef SLUICE_COMMAND_REMOVE_H
#define SLUICE_COMMAND_REMOVE_H

#include <stdbool.h>
#include <sys/stat.h>

struct remove_rules {
    /* Whether this stays; its directory then stays, too. NULL: nothing does. */
    bool (*keep)(void *context, const char *path, bool directory);
    /* This was removed, or would be in a dry run. NULL: nobody wants to know. */
    void (*removed)(void *context, const char *path, bool directory);
    void *context;
    bool dry_run; /* removes nothing */
};

/* Removes what has the name `base` in dir_fd; path: its name for `rules`. Returns 0; -ENOTEMPTY:
 * something in it stays; -EXDEV: something is mounted there; -EINTR: something asked to stop, and
 * not all was removed; another negative errno. */
int remove_entry(const struct remove_rules *rules, int dir_fd, const char *base, const char *path);

/* Removes a directory that is in the way of something else, and says so of what is in it; without
 * rules, only an empty one. Returns as remove_entry(). */
int remove_directory(const struct remove_rules *rules, int dir_fd, const char *base,
                     const char *path);

/* A dry run: says what would go because something else takes the place of a directory. st: what has
 * the name; NULL: nothing. Returns as remove_entry(). */
int remove_foresee(const struct remove_rules *rules, int dir_fd, const char *base, const char *path,
                   const struct stat *st);

/* Whether something asked to stop: a signal, or the other end of a copy, which is heard here. */
bool remove_stops(void);
/* Opens a directory, and, with `change`, lets its owner, if that is this user, write to it. *st is
 * set to what it was. Returns the descriptor or a negative errno. */
int remove_open(int dir_fd, const char *base, bool change, struct stat *st);
/* Closes it, with the mode that it had. */
void remove_close(int fd, const struct stat *st);

/* "path/name", to free(); path "": "name". NULL: no memory. */
char *remove_join(const char *path, const char *name);

#endif
