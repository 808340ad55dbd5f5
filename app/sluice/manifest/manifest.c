/* SPDX-License-Identifier: BSD-3-Clause */
/* A manifest in memory. See manifest.h. */
#include "sluice/manifest/manifest.h"

#include <stdlib.h>
#include <string.h>

static void item_free(struct manifest_item *i)
{
    free(i->name);
    free(i->target);
    free(i->unread);
}

void manifest_fini(struct manifest *m)
{
    while (m->n > 0)
        item_free(&m->items[--m->n]);
    free(m->items);
    memset(m, 0, sizeof *m);
}

struct manifest_item *manifest_add(struct manifest *m, const char *name, const char *target)
{
    struct manifest_item new = {.name = strdup(name), .line = m->n}, *more;

    if (target != NULL)
        new.target = strdup(target);
    if (m->n == m->size) {
        more = realloc(m->items, (m->size + 64) * 2 * sizeof *more);
        if (more != NULL) {
            m->items = more;
            m->size = (m->size + 64) * 2;
        }
    }
    if (m->n == m->size || new.name == NULL || (target != NULL && new.target == NULL)) {
        item_free(&new);
        return NULL;
    }
    m->items[m->n] = new;
    return &m->items[m->n++];
}

static int item_compare(const void *a, const void *b)
{
    const struct manifest_item *i = a, *j = b;
    int order = strcmp(i->name, j->name);

    return order != 0 ? order : (i->line > j->line) - (i->line < j->line);
}

void manifest_sort(struct manifest *m)
{
    if (m->n > 0)
        qsort(m->items, m->n, sizeof *m->items, item_compare);
}

void manifest_unique(struct manifest *m)
{
    size_t i, kept = 0;

    for (i = 0; i < m->n; i++) {
        if (i + 1 < m->n && strcmp(m->items[i].name, m->items[i + 1].name) == 0)
            item_free(&m->items[i]);
        else
            m->items[kept++] = m->items[i];
    }
    m->n = kept;
}

static int name_compare(const void *name, const void *item)
{
    return strcmp(name, ((const struct manifest_item *)item)->name);
}

const struct manifest_item *manifest_find(const struct manifest *m, const char *name)
{
    return m->n == 0 ? NULL : bsearch(name, m->items, m->n, sizeof *m->items, name_compare);
}
