/* SPDX-License-Identifier: BSD-3-Clause */
/* Files with several names. See link_table.h. */
#include "sluice/attributes/link_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MIN 256

/* ---- the sender's -------------------------------------------------------------------------- */

void link_table_fini(struct link_table *t)
{
    free(t->slots);
    *t = (struct link_table){0};
}

/* The slot of the file, or the free one that it would get. */
static struct link_slot *table_slot(const struct link_table *t, const struct stat *st)
{
    uint64_t hash = ((uint64_t)st->st_ino ^ ((uint64_t)st->st_dev << 40)) * 0x9e3779b97f4a7c15u;
    size_t i = (hash >> 32) & (t->size - 1);

    while (t->slots[i].number != 0 &&
           (t->slots[i].ino != st->st_ino || t->slots[i].dev != st->st_dev))
        i = (i + 1) & (t->size - 1);
    return &t->slots[i];
}

uint64_t link_table_find(const struct link_table *t, const struct stat *st)
{
    return t->n == 0 ? 0 : table_slot(t, st)->number;
}

/* Makes the table twice as large. 0 or -ENOMEM. */
static int table_grow(struct link_table *t)
{
    struct link_table bigger = {.size = t->size == 0 ? SIZE_MIN : 2 * t->size, .n = t->n};
    size_t i;

    bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return -ENOMEM;
    for (i = 0; i < t->size; i++) {
        struct stat st = {.st_dev = t->slots[i].dev, .st_ino = t->slots[i].ino};

        if (t->slots[i].number != 0)
            *table_slot(&bigger, &st) = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return 0;
}

int link_table_add(struct link_table *t, const struct stat *st, uint64_t number)
{
    struct link_slot *slot;

    if (2 * t->n >= t->size && table_grow(t) < 0)
        return -ENOMEM;
    slot = table_slot(t, st);
    t->n += slot->number == 0;
    *slot = (struct link_slot){.dev = st->st_dev, .ino = st->st_ino, .number = number};
    return 0;
}

/* ---- the receiver's ------------------------------------------------------------------------ */

void link_files_fini(struct link_files *l)
{
    while (l->n > 0)
        free(l->files[--l->n].name);
    free(l->files);
    *l = (struct link_files){0};
}

int link_files_number(struct link_files *l, uint64_t number)
{
    if (number == 0 || number > l->n + 1)
        return -EPROTO;
    if (number <= l->n)
        return 0;
    if (l->n == l->size) {
        size_t size = l->size == 0 ? SIZE_MIN : 2 * l->size;
        struct link_file *more = realloc(l->files, size * sizeof *more);

        if (more == NULL)
            return -ENOMEM;
        l->files = more;
        l->size = size;
    }
    l->files[l->n++] = (struct link_file){0};
    return 0;
}

int link_files_place(struct link_files *l, uint64_t number, const char *name, const struct stat *st)
{
    struct link_file *f = &l->files[number - 1];
    char *copy = strdup(name);

    if (copy == NULL)
        return -ENOMEM;
    free(f->name);
    *f = (struct link_file){.name = copy, .placed = true};
    if (st != NULL) {
        f->dev = st->st_dev;
        f->ino = st->st_ino;
    }
    return 0;
}

const struct link_file *link_files_find(const struct link_files *l, uint64_t number)
{
    return number == 0 || number > l->n || !l->files[number - 1].placed ? NULL
                                                                        : &l->files[number - 1];
}
