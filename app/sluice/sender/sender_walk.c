/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one walk through all paths. With options->resume, it runs ahead of what is sent: the receiver
 * is asked about each file that it finds, and what it finds waits in a queue for its turn.
 *
 * Invariant: entries leave the queue in the order of the walk, and the trees of all that are in it
 * are open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/name.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"

void sender_file_failed(struct sender *s, const char *path, const char *cause, const char *cure)
{
    char safe[512];

    sender_failed(
        s, say_error(SAY_LOCAL, "%s: %s; %s", text_safe(safe, sizeof safe, path), cause, cure));
    sender_report_failed(s, path, 0, cause);
    s->summary.failed++;
    s->unread = true;
}

static size_t text_len(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

/* Has the entry wait for its turn. NULL: no memory, with a message. */
static struct sender_entry *walk_add(struct sender *s, const struct tree_entry *e)
{
    struct sender_walk *w = &s->walk;
    size_t path_len = text_len(e->path), name_len = text_len(e->name);
    struct sender_entry *q = malloc(sizeof *q + path_len + name_len);

    if (q == NULL) {
        s->giving_up = true;
        sender_failed(s, say_error(SAY_RESOURCE, "no memory; send fewer files at once"));
        return NULL;
    }
    *q = (struct sender_entry){.e = *e, .path = w->path};
    memcpy(q->text, e->path, path_len);
    memcpy(q->text + path_len, e->name, name_len);
    q->e.path = q->text;
    q->e.name = q->text + path_len;
    if (e->below != NULL)
        q->e.below = q->text + (e->below - e->path);
    if (w->last != NULL)
        w->last->next = q;
    else
        w->first = q;
    w->last = q;
    w->n++;
    return q;
}

/* Says which names of --files-from are not there. */
static void walk_chosen(struct sender *s, const char *path)
{
    const struct chosen *c = s->options->sync != NULL ? s->options->sync->chosen : NULL;
    int fd = c != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat st;
    size_t i;

    for (i = 0; fd >= 0 && i < c->n; i++) {
        if (fstatat(fd, c->list[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            sender_file_failed(s, c->list[i], strerror(errno), "correct the list of --files-from");
    }
    if (fd >= 0)
        close(fd);
}

/* Closes the trees before that of the first entry, or, if there is none, before this path. */
static void walk_close_trees(struct sender_walk *w)
{
    int path = w->first != NULL ? w->first->path : w->path;

    while (w->n_trees > 0 && w->trees[w->oldest].path < path) {
        tree_close(w->trees[w->oldest].tree);
        w->oldest = (w->oldest + 1) % SENDER_TREES_MAX;
        w->n_trees--;
    }
}

/* Begins the next path. */
static void walk_open(struct sender *s)
{
    struct sender_walk *w = &s->walk;
    const char *path = s->options->paths[w->path];
    struct tree_entry input = {.path = path, .name = s->options->name};
    struct sender_entry *q;
    struct tree *t;

    if (strcmp(path, "-") == 0 && s->options->sync == NULL) {
        q = walk_add(s, &input);
        if (q != NULL)
            q->input = true;
        w->path++;
        return;
    }
    walk_chosen(s, path);
    t = tree_open(path, sender_rules(s));
    if (t == NULL) {
        sender_file_failed(s, path, strerror(errno), "leave it out");
        w->path++;
        return;
    }
    w->trees[(w->oldest + w->n_trees) % SENDER_TREES_MAX].tree = t;
    w->trees[(w->oldest + w->n_trees) % SENDER_TREES_MAX].path = w->path;
    w->n_trees++;
    w->inside = true;
    w->below = false;
}

static struct tree *walk_tree(const struct sender_walk *w)
{
    return w->trees[(w->oldest + w->n_trees - 1) % SENDER_TREES_MAX].tree;
}

/* Ends the path. Of a file, nothing needs the tree any more. */
static void walk_close(struct sender_walk *w)
{
    if (!w->below) {
        tree_close(walk_tree(w));
        w->n_trees--;
    }
    w->inside = false;
    w->path++;
    walk_close_trees(w);
}

/* Something cannot be sent, since an earlier path has its name for something of another kind. */
static void walk_clashes(struct sender *s, const struct tree_entry *e, const char *first)
{
    char why[64];

    snprintf(why, sizeof why, "an earlier source has %s of this name", first);
    sender_file_failed(s, e->path, why, "rename one of them, or leave it out");
}

/* Whether an earlier path of a sync has the name already: the first one counts. Directories of one
 * name become one. */
static bool walk_taken(struct sender *s, const struct tree_entry *e)
{
    bool enters = e->kind == TREE_ENTER;
    struct name_set *taken = &s->walk.taken;

    if (s->options->sync == NULL || s->options->n_paths == 1 || e->kind == TREE_DIR)
        return false;
    if (name_set_has(taken, enters ? SYNC_SEEN : SYNC_DIRECTORY, e->name)) {
        walk_clashes(s, e, enters ? "a file" : "a directory");
        if (enters)
            tree_pass(walk_tree(&s->walk));
        return true;
    }
    return name_set_add(taken, enters ? SYNC_DIRECTORY : SYNC_SEEN, e->name) == 0 && !enters;
}

/* Whether something else has to be sent first. */
static bool walk_is_far(const struct sender *s)
{
    const struct sender_walk *w = &s->walk;

    if (!s->options->resume)
        return w->n > 0;
    return w->n >= SENDER_ASKS_MAX || sender_asks_enough(s) ||
           (!w->inside && w->n_trees == SENDER_TREES_MAX);
}

bool sender_walks(struct sender *s)
{
    struct sender_walk *w = &s->walk;
    struct sender_entry *q;
    struct tree_entry e;
    bool named;

    if (w->path == s->options->n_paths || walk_is_far(s))
        return false;
    if (!w->inside) {
        walk_open(s);
        return true;
    }
    if (!tree_next(walk_tree(w), &e)) {
        walk_close(w);
        return true;
    }
    w->below |= e.walked;
    named = e.kind != TREE_FAILED && name_check(e.name, strlen(e.name)) == NULL;
    if (named && walk_taken(s, &e))
        return true;
    q = walk_add(s, &e);
    if (q != NULL && named && s->options->resume && e.kind == TREE_FILE && S_ISREG(e.st.st_mode))
        q->ask = sender_asks(s, &q->e);
    return true;
}

void sender_walked(struct sender *s)
{
    struct sender_walk *w = &s->walk;
    struct sender_entry *q = w->first;

    w->first = q->next;
    if (w->first == NULL)
        w->last = NULL;
    w->n--;
    free(q);
    walk_close_trees(w);
}

void sender_walk_fini(struct sender *s)
{
    struct sender_walk *w = &s->walk;

    while (w->first != NULL)
        sender_walked(s);
    w->path = s->options->n_paths;
    walk_close_trees(w);
    name_set_fini(&w->taken);
    memset(w, 0, sizeof *w);
}
