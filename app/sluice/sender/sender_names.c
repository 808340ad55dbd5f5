/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the names of all that is to be sent before anything is, so that the receiver can delete
 * first what has none of them. It walks as sender_walk.c does, and prints nothing: what cannot be
 * read is said when it is to be sent. Until then, it keeps the receiver from deleting.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/name.h"
#include "sluice/files/part_name.h"
#include "sluice/sender/sender.h"

/* What has such a name is never sent. */
static bool names_is_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return part_name_is(slash != NULL ? slash + 1 : name);
}

/* Not all will be told. */
static void names_unread(struct sender *s, const char *path)
{
    if (!s->names.unread)
        text_safe(s->names.what, sizeof s->names.what, path);
    s->names.unread = true;
}

static void names_add(struct sender *s, const struct tree_entry *e)
{
    struct record r = {.type = RECORD_NAME, .flags = e->kind == TREE_ENTER ? RECORD_BEGIN : 0};
    bool top = *e->name == 0 && e->kind == TREE_ENTER;
    const char *name = top ? "." : e->name;

    if (e->kind == TREE_FAILED && e->error == ENOENT && e->walked)
        return; /* it has gone: it is no name any more */
    if (e->kind == TREE_FAILED || (!top && name_check(name, strlen(name)) != NULL)) {
        names_unread(s, e->path);
        return;
    }
    if ((e->kind == TREE_FILE || e->kind == TREE_LINK) && names_is_part(name))
        return;
    if (e->kind == TREE_FILE && faccessat(AT_FDCWD, e->path, R_OK, AT_EACCESS) < 0 &&
        errno != ENOENT)
        names_unread(s, e->path);
    r.len_bytes = (uint32_t)strlen(name);
    pack_add(&s->pack, &r, name);
}

void sender_names(struct sender *s)
{
    struct record all = {.type = RECORD_NAMED};
    struct sender_names *n = &s->names;
    struct tree_entry e;

    if (n->tree == NULL && n->path == s->options->n_paths) {
        all.flags = n->unread ? RECORD_UNREAD : 0;
        pack_add(&s->pack, &all, NULL);
        n->over = true;
    } else if (n->tree == NULL) {
        n->tree = tree_open(s->options->paths[n->path], sender_rules(s));
        if (n->tree == NULL)
            names_unread(s, s->options->paths[n->path]);
        n->path++;
    } else if (!tree_next(n->tree, &e)) {
        sender_names_fini(s);
    } else if (e.kind != TREE_DIR) { /* it came as TREE_ENTER */
        names_add(s, &e);
    }
}

void sender_names_end(struct sender *s)
{
    if (s->names.unread && !s->unread && s->code == SAY_OK)
        sender_failed(s, say_error(SAY_LOCAL,
                                   "%s: could not be read when names were told, so nothing was "
                                   "deleted; make it readable, or leave it out",
                                   s->names.what));
}

void sender_names_fini(struct sender *s)
{
    if (s->names.tree != NULL)
        tree_close(s->names.tree);
    s->names.tree = NULL;
}
