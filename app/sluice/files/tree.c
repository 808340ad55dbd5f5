/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks a file or directory that is to be sent. See tree.h. */
#include "sluice/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tree {
    FTS *fts;
    struct tree_rules rules;
    struct name_dir dir; /* root_fd: of the root; -1: it is no directory, or cannot be opened */
    bool begun;          /* fts_read() was called */
    char *path;          /* of the root, without slashes at its end */
    size_t path_len;
    char *name; /* memory for the names that tree_name() makes; NULL: none yet */
    size_t name_size;
    char base[NAME_MAX + 1];
};

void tree_base(const char *path, const char **base, int *base_len)
{
    size_t end = strlen(path), start;

    while (end > 0 && path[end - 1] == '/')
        end--;
    start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    *base = path + start;
    *base_len = (int)(end - start);
    if ((*base_len == 1 && path[start] == '.') ||
        (*base_len == 2 && path[start] == '.' && path[start + 1] == '.'))
        *base_len = 0;
}

static int tree_compare(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

struct tree *tree_open(const char *path, struct tree_rules rules)
{
    struct tree *t = calloc(1, sizeof *t);
    const char *base;
    char *roots[2] = {NULL, NULL};
    bool follow;
    int len;

    if (t == NULL)
        return NULL;
    t->rules = rules;
    tree_base(path, &base, &len);
    /* What is named with a slash, or is "." or "..", is a directory, whatever leads there. */
    follow = !rules.sync || len == 0 || base[len] == '/' || rules.contents;
    if (rules.sync && follow)
        len = 0;
    if (len > NAME_MAX) {
        free(t);
        errno = ENAMETOOLONG;
        return NULL;
    }
    snprintf(t->base, sizeof t->base, "%.*s", len, base);
    t->dir.fd = -1;
    t->dir.root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    t->path = strdup(path);
    if (t->path != NULL) {
        t->path_len = strlen(path);
        while (t->path_len > 1 && t->path[t->path_len - 1] == '/')
            t->path[--t->path_len] = 0;
        roots[0] = t->path;
        t->fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | (follow ? FTS_COMFOLLOW : 0),
                          tree_compare);
    }
    if (t->fts == NULL) {
        tree_close(t);
        return NULL;
    }
    return t;
}

void tree_close(struct tree *t)
{
    if (t == NULL)
        return;
    /* glibc's fts_close() leaks the root if nothing was ever read. */
    if (t->fts != NULL && !t->begun)
        fts_read(t->fts);
    if (t->fts != NULL)
        fts_close(t->fts);
    name_dir_close(&t->dir);
    if (t->dir.root_fd >= 0)
        close(t->dir.root_fd);
    free(t->path);
    free(t->name);
    free(t);
}

/* The entry's name for the receiver; "": a root of which only the content has names; NULL: no
 * memory. below: its path in the root. */
static const char *tree_name(struct tree *t, const FTSENT *e, const char *below)
{
    size_t need = strlen(t->base) + strlen(below) + 2;

    if (e->fts_level == 0)
        return t->base;
    if (t->base[0] == 0)
        return below;
    if (need > t->name_size) {
        char *bigger = realloc(t->name, need * 2);

        if (bigger == NULL)
            return NULL;
        t->name = bigger;
        t->name_size = need * 2;
    }
    snprintf(t->name, t->name_size, "%s/%s", t->base, below);
    return t->name;
}

static void tree_classify(const struct tree *t, const FTSENT *e, struct tree_entry *out)
{
    out->kind = TREE_FAILED;
    out->error = e->fts_errno;
    switch (e->fts_info) {
    case FTS_F:
        out->kind = TREE_FILE;
        break;
    case FTS_D:
        out->kind = TREE_ENTER;
        break;
    case FTS_DP:
        out->kind = TREE_DIR;
        break;
    case FTS_DEFAULT: /* a device, pipe or socket */
        out->kind = out->walked || t->rules.sync ? TREE_SKIPPED : TREE_FILE;
        out->why = "neither a file nor a directory";
        break;
    case FTS_SL:
    case FTS_SLNONE:
        out->kind = t->rules.sync ? TREE_LINK : out->walked ? TREE_SKIPPED : TREE_FAILED;
        out->error = ENOENT;
        out->why = "a symbolic link";
        break;
    case FTS_DC:
        out->error = ELOOP;
        break;
    default:
        break;
    }
}

static bool tree_is_dir(const FTSENT *e)
{
    return e->fts_info == FTS_D || e->fts_info == FTS_DP || e->fts_info == FTS_DNR ||
           e->fts_info == FTS_DC;
}

/* Whether the entry is not to be returned; of a directory that takes no part, skips the content. */
static bool tree_passes(struct tree *t, FTSENT *e)
{
    const char *below = e->fts_path + t->path_len, *name;

    if (e->fts_info == FTS_D && !t->rules.sync)
        return true;
    if (t->rules.leave_out == NULL)
        return false;
    name = tree_name(t, e, below + strspn(below, "/"));
    if (name == NULL || *name == 0 || !t->rules.leave_out(t->rules.context, name, tree_is_dir(e)))
        return false;
    if (e->fts_info == FTS_D)
        fts_set(t->fts, e, FTS_SKIP);
    return true;
}

bool tree_next(struct tree *t, struct tree_entry *out)
{
    FTSENT *e;

    do {
        errno = 0;
        e = fts_read(t->fts);
        t->begun = true;
        if (e == NULL && errno == 0)
            return false;
    } while (e != NULL && tree_passes(t, e));
    memset(out, 0, sizeof *out);
    if (e == NULL) {
        out->kind = TREE_FAILED;
        out->error = errno;
        out->path = out->name = t->path;
        return true;
    }
    out->path = e->fts_path;
    out->walked = e->fts_level > 0;
    out->dir = &t->dir;
    out->below = e->fts_path + t->path_len;
    out->below += strspn(out->below, "/");
    out->name = tree_name(t, e, out->below);
    if (e->fts_statp != NULL && e->fts_info != FTS_NS)
        out->st = *e->fts_statp;
    tree_classify(t, e, out);
    if (out->name == NULL) {
        out->kind = TREE_FAILED;
        out->error = ENOMEM;
        out->name = "";
    }
    return true;
}

ssize_t tree_link(const struct tree_entry *e, char *target, size_t size)
{
    const char *base = e->path;
    int fd = e->walked ? name_dir_parent(e->dir, e->below, &base, NULL) : AT_FDCWD;
    ssize_t n;

    if (e->walked && fd < 0)
        return fd;
    n = readlinkat(fd, base, target, size);
    return n < 0 ? -errno : n;
}
