/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files with several names (hard links). The sender numbers each such file of which it meets a
 * name; the receiver remembers by that number what it has placed.
 *
 * Invariant: numbers begin with 1 and have no gaps.
 */
#ifndef SLUICE_COMMAND_LINK_TABLE_H
#define SLUICE_COMMAND_LINK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ---- the sender's: numbers by inode. Zero is empty. ---------------------------------------- */

struct link_table {
    struct link_slot {
        dev_t dev;
        ino_t ino;
        uint64_t number; /* 0: the slot is free */
    } * slots;
    size_t size, n;
};

void link_table_fini(struct link_table *t);
/* The number of the file; 0: none of its names was added. */
uint64_t link_table_find(const struct link_table *t, const struct stat *st);
/* 0 or -ENOMEM. */
int link_table_add(struct link_table *t, const struct stat *st, uint64_t number);

/* ---- the receiver's: what has which number. Zero is empty. --------------------------------- */

struct link_file {
    char *name; /* the first one; NULL: nothing has come yet */
    dev_t dev;
    ino_t ino;
    bool placed; /* it has been received, or was there; in a dry run, it would be */
};

struct link_files {
    struct link_file *files; /* number 1 is the first */
    size_t n, size;
};

void link_files_fini(struct link_files *l);
/* A number has come: it is one that came before, or the next one. 0; -EPROTO: it is neither;
 * -ENOMEM. */
int link_files_number(struct link_files *l, uint64_t number);
/* The file of this number is placed under the name. st NULL: it would be. 0 or -ENOMEM. */
int link_files_place(struct link_files *l, uint64_t number, const char *name,
                     const struct stat *st);
/* NULL: no file of this number has come. */
const struct link_file *link_files_find(const struct link_files *l, uint64_t number);

#endif
