/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of --files-from. See chosen.h. */
#include "sluice/sync/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "sluice/files/name.h"
#include "sluice/sync/lines.h"

#define NO_MEMORY "no memory; end other programs first"

/* Kinds of names in the set. */
enum { CHOSEN_NAMED = 'n', CHOSEN_ABOVE = 'a' };

void chosen_fini(struct chosen *c)
{
    while (c->n > 0)
        free(c->list[--c->n]);
    free(c->list);
    name_set_fini(&c->names);
    c->list = NULL;
    c->size = 0;
}

/* Copies the name without what means nothing. NULL: no memory. */
static char *chosen_clean(const char *name)
{
    char *clean = malloc(strlen(name) + 1), *to = clean;

    while (clean != NULL && *name != 0) {
        size_t len = strcspn(name, "/");

        if (len > 0 && !(len == 1 && name[0] == '.')) {
            if (to != clean)
                *to++ = '/';
            memcpy(to, name, len);
            to += len;
        }
        name += len + strspn(name + len, "/");
    }
    if (clean != NULL)
        *to = 0;
    return clean;
}

/* Notes the name, and the directories that it is in. 0 or a negative errno. */
static int chosen_note(struct chosen *c, char *name)
{
    int err = name_set_add(&c->names, CHOSEN_NAMED, name);
    char *slash;

    for (slash = strchr(name, '/'); slash != NULL && err >= 0; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        err = name_set_add(&c->names, CHOSEN_ABOVE, name);
        *slash = '/';
    }
    return err;
}

const char *chosen_add(struct chosen *c, const char *name)
{
    char *clean = chosen_clean(name), **more;
    const char *wrong = clean == NULL ? NO_MEMORY : NULL;

    if (clean != NULL && *clean != 0 && name_check(clean, strlen(clean)) != NULL)
        wrong = "a name has \"..\", or is too long; name what is in the source";
    if (wrong == NULL && c->n == c->size) {
        more = realloc(c->list, (c->size + 64) * 2 * sizeof *more);
        if (more == NULL)
            wrong = NO_MEMORY;
        else
            c->list = more;
        c->size = more == NULL ? c->size : (c->size + 64) * 2;
    }
    if (wrong == NULL && *clean != 0 && chosen_note(c, clean) < 0)
        wrong = NO_MEMORY;
    if (wrong == NULL && *clean != 0)
        c->list[c->n++] = clean;
    else
        free(clean);
    return wrong;
}

static const char *chosen_line(void *context, const char *line)
{
    return chosen_add(context, line);
}

int chosen_read(struct chosen *c, const char *path)
{
    return lines_read(path, chosen_line, c);
}

bool chosen_has(const struct chosen *c, const char *name, bool directory)
{
    return name_set_has(&c->names, CHOSEN_NAMED, name) ||
           (directory && name_set_has(&c->names, CHOSEN_ABOVE, name));
}
