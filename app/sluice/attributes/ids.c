/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of users and groups. See ids.h. */
#include "sluice/attributes/ids.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/attributes/attributes.h"

void ids_fini(struct ids *ids)
{
    while (ids->n > 0)
        free(ids->entries[--ids->n].name);
    free(ids->entries);
    ids->entries = NULL;
    ids->size = 0;
}

/* Remembers an entry. NULL: no memory. */
static struct id_entry *ids_add(struct ids *ids, const char *name, uint32_t len)
{
    struct id_entry *e;

    if (ids->n == IDS_MAX)
        ids_fini(ids);
    if (ids->n == ids->size) {
        uint32_t size = ids->size == 0 ? 16 : 2 * ids->size;

        e = realloc(ids->entries, size * sizeof *e);
        if (e == NULL)
            return NULL;
        ids->entries = e;
        ids->size = size;
    }
    e = &ids->entries[ids->n];
    *e = (struct id_entry){.name = strndup(name, len)};
    if (e->name == NULL)
        return NULL;
    ids->n++;
    return e;
}

const char *ids_name(struct ids *ids, uint32_t id)
{
    const struct passwd *p;
    const struct group *g;
    const char *name = "";
    struct id_entry *e;
    uint32_t i;

    for (i = 0; i < ids->n; i++) {
        if (ids->entries[i].id == id)
            return ids->entries[i].name;
    }
    if (ids->groups && (g = getgrgid(id)) != NULL)
        name = g->gr_name;
    else if (!ids->groups && (p = getpwuid(id)) != NULL)
        name = p->pw_name;
    if (strlen(name) > ATTRIBUTE_NAME_MAX)
        name = "";
    e = ids_add(ids, name, (uint32_t)strlen(name));
    if (e == NULL)
        return "";
    e->id = id;
    return e->name;
}

uint32_t ids_number(struct ids *ids, const char *name, uint32_t len, uint32_t id)
{
    const struct passwd *p;
    const struct group *g;
    struct id_entry *e;
    uint32_t i;

    if (len == 0 || id == 0)
        return id;
    for (i = 0; i < ids->n; i++) {
        e = &ids->entries[i];
        if (strncmp(e->name, name, len) == 0 && e->name[len] == 0)
            return e->known ? e->id : id;
    }
    e = ids_add(ids, name, len);
    if (e == NULL)
        return id;
    if (ids->groups && (g = getgrnam(e->name)) != NULL) {
        e->id = g->gr_gid;
        e->known = true;
    } else if (!ids->groups && (p = getpwnam(e->name)) != NULL) {
        e->id = p->pw_uid;
        e->known = true;
    }
    return e->known ? e->id : id;
}
