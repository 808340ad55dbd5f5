/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of users or groups, as this host knows them. Each is looked up once; at most IDS_MAX are
 * remembered, so that no sender fills the memory with names.
 */
#ifndef SLUICE_COMMAND_IDS_H
#define SLUICE_COMMAND_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define IDS_MAX 4096

struct ids {
    bool groups; /* else users */
    uint32_t n, size;
    struct id_entry {
        char *name; /* "": the number has no name */
        uint32_t id;
        bool known; /* by_name: this host has the name */
    } * entries;
};

void ids_fini(struct ids *ids);
/* The name of this number; "": it has none, or memory is short. Valid until the next call. */
const char *ids_name(struct ids *ids, uint32_t id);
/* The number that the name, of len bytes, has here; if this host does not know it, `id`. As rsync
 * has it, number 0 is 0 everywhere. */
uint32_t ids_number(struct ids *ids, const char *name, uint32_t len, uint32_t id);

#endif
