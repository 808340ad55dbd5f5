/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks a file or directory that is to be sent. See tree.h. */
#include "sluice/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/files/listing.h"

/*
 * The walk opens each directory by its path in the root, without following links, and takes the
 * names in it before it looks at any of them. (glibc's fts(3) takes a directory that fails in the
 * midst for one that ends there, and follows a link that has taken the place of a directory.)
 */

/* A directory that is being walked. */
struct level {
    struct listing names;
    size_t next;     /* index of the next name */
    size_t path_len; /* of tree.text, without the names in it */
    struct stat st;
};

struct tree {
    struct tree_rules rules;
    struct name_dir dir;  /* for the owner. root_fd: of the root; -1: it cannot be opened as one */
    struct name_dir walk; /* for the walk, with the same root_fd */
    int root_err;         /* negative errno of opening it */
    bool follow;          /* of the root, a link is followed */
    bool begun;           /* the root was returned, or passed */
    bool enters;          /* the newest entry is a directory, and its content is next */
    struct level *levels; /* n_levels are open, the newest is last */
    size_t n_levels, max_levels;
    struct stat st; /* of the newest entry */
    char *text;     /* path of the newest entry */
    size_t text_size;
    size_t path_len; /* of the root's path, without slashes at its end */
    char *name;      /* memory for the names that tree_name() makes; NULL: none yet */
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

struct tree *tree_open(const char *path, struct tree_rules rules)
{
    struct tree *t = calloc(1, sizeof *t);
    const char *base;
    int len;

    if (t == NULL)
        return NULL;
    t->rules = rules;
    tree_base(path, &base, &len);
    /* What is named with a slash, or is "." or "..", is a directory, whatever leads there. */
    t->follow = !rules.sync || len == 0 || base[len] == '/' || rules.contents;
    if (rules.sync && t->follow)
        len = 0;
    if (len > NAME_MAX) {
        free(t);
        errno = ENAMETOOLONG;
        return NULL;
    }
    snprintf(t->base, sizeof t->base, "%.*s", len, base);
    t->dir.fd = t->walk.fd = -1;
    t->dir.root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (t->follow ? 0 : O_NOFOLLOW));
    t->root_err = t->dir.root_fd < 0 ? -errno : 0;
    t->walk.root_fd = t->dir.root_fd;
    t->text = strdup(path);
    if (t->text == NULL) {
        tree_close(t);
        errno = ENOMEM;
        return NULL;
    }
    t->path_len = strlen(path);
    t->text_size = t->path_len + 1;
    while (t->path_len > 1 && t->text[t->path_len - 1] == '/')
        t->text[--t->path_len] = 0;
    return t;
}

void tree_close(struct tree *t)
{
    if (t == NULL)
        return;
    while (t->n_levels > 0)
        listing_free(&t->levels[--t->n_levels].names);
    free(t->levels);
    name_dir_close(&t->walk);
    name_dir_close(&t->dir);
    if (t->dir.root_fd >= 0)
        close(t->dir.root_fd);
    free(t->text);
    free(t->name);
    free(t);
}

/* The newest entry's path in the root. */
static const char *tree_below(const struct tree *t)
{
    const char *below = t->text + t->path_len;

    return below + strspn(below, "/");
}

/* The entry's name for the receiver; "": a root of which only the content has names; NULL: no
 * memory. below: its path in the root. */
static const char *tree_name(struct tree *t, const char *below)
{
    size_t need = strlen(t->base) + strlen(below) + 2;

    if (*below == 0)
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

/* Makes the newest entry that of this name in the directory of the path's first len bytes. 0 or
 * -ENOMEM. */
static int tree_append(struct tree *t, size_t len, const char *name)
{
    size_t need = len + strlen(name) + 2;
    const char *slash = len > 0 && t->text[len - 1] == '/' ? "" : "/";

    if (need > t->text_size) {
        char *bigger = realloc(t->text, need * 2);

        if (bigger == NULL)
            return -ENOMEM;
        t->text = bigger;
        t->text_size = need * 2;
    }
    snprintf(t->text + len, t->text_size - len, "%s%s", slash, name);
    return 0;
}

/* Looks at the newest entry, which is not the root. 0 or a negative errno. */
static int tree_look(struct tree *t)
{
    const char *base;
    int fd = name_dir_parent(&t->walk, tree_below(t), &base, NULL);

    if (fd < 0)
        return fd;
    return fstatat(fd, base, &t->st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Looks at the root. 0 or a negative errno. */
static int tree_look_root(struct tree *t)
{
    if (t->dir.root_fd >= 0)
        return fstat(t->dir.root_fd, &t->st) < 0 ? -errno : 0;
    if (t->follow && stat(t->text, &t->st) == 0)
        return 0;
    return lstat(t->text, &t->st) < 0 ? -errno : 0;
}

/* Reads the names in the newest entry. 0 or a negative errno. */
static int level_read(struct tree *t, struct listing *names)
{
    const char *base, *below = tree_below(t);
    int err, fd = t->dir.root_fd, parent;

    if (*below == 0)
        return fd < 0 ? t->root_err : listing_read(names, fd);
    parent = name_dir_parent(&t->walk, below, &base, NULL);
    if (parent < 0)
        return parent;
    fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    err = listing_read(names, fd);
    close(fd);
    return err;
}

/* Begins with the content of the newest entry. 0 or a negative errno. */
static int level_push(struct tree *t)
{
    struct level level = {.path_len = strlen(t->text), .st = t->st};
    int err;

    if (t->n_levels == t->max_levels) {
        size_t more = t->max_levels == 0 ? 16 : 2 * t->max_levels;
        struct level *bigger = realloc(t->levels, more * sizeof *bigger);

        if (bigger == NULL)
            return -ENOMEM;
        t->levels = bigger;
        t->max_levels = more;
    }
    err = level_read(t, &level.names);
    if (err == 0)
        t->levels[t->n_levels++] = level;
    return err;
}

/* The directory has been walked: it is the newest entry again. */
static void level_pop(struct tree *t)
{
    struct level *level = &t->levels[--t->n_levels];

    listing_free(&level->names);
    t->text[level->path_len] = 0;
    t->st = level->st;
}

/* Whether the newest entry is a directory that it is in, as mounts may make it. */
static bool tree_returns(const struct tree *t)
{
    size_t i;

    for (i = 0; i < t->n_levels; i++) {
        if (t->levels[i].st.st_dev == t->st.st_dev && t->levels[i].st.st_ino == t->st.st_ino)
            return true;
    }
    return false;
}

/* What the newest entry is, which is no directory. */
static void tree_classify(const struct tree *t, struct tree_entry *out)
{
    out->st = t->st;
    if (S_ISREG(t->st.st_mode)) {
        out->kind = TREE_FILE;
    } else if (S_ISLNK(t->st.st_mode)) {
        out->kind = t->rules.sync ? TREE_LINK : out->walked ? TREE_SKIPPED : TREE_FAILED;
        out->error = ENOENT;
        out->why = "a symbolic link";
    } else { /* a device, pipe or socket */
        out->kind = out->walked || t->rules.sync ? TREE_SKIPPED : TREE_FILE;
        out->why = "neither a file nor a directory";
    }
}

/* Fills in what is known of the newest entry. */
static void tree_describe(struct tree *t, struct tree_entry *out)
{
    *out = (struct tree_entry){.kind = TREE_FAILED, .path = t->text, .dir = &t->dir};
    out->below = tree_below(t);
    out->walked = *out->below != 0;
    out->name = tree_name(t, out->below);
    if (out->name == NULL) {
        out->error = ENOMEM;
        out->name = "";
    }
}

/* Whether the newest entry takes no part. */
static bool tree_passes(const struct tree *t, const struct tree_entry *e)
{
    return t->rules.leave_out != NULL && *e->name != 0 &&
           t->rules.leave_out(t->rules.context, e->name, S_ISDIR(t->st.st_mode));
}

/* Takes the newest entry, of which tree_look() has said err. False: it is not to be returned. */
static bool tree_take(struct tree *t, int err, struct tree_entry *out)
{
    tree_describe(t, out);
    if (err < 0 || out->error != 0) {
        out->error = err < 0 ? -err : out->error;
        return true;
    }
    if (tree_passes(t, out))
        return false;
    if (!S_ISDIR(t->st.st_mode)) {
        tree_classify(t, out);
        return true;
    }
    out->st = t->st;
    if (tree_returns(t)) {
        out->error = ELOOP;
        return true;
    }
    t->enters = true;
    out->kind = TREE_ENTER;
    return t->rules.sync;
}

/* Goes into the newest entry. False: that cannot be read, and *out says so. */
static bool tree_enter(struct tree *t, struct tree_entry *out)
{
    int err = level_push(t);

    t->enters = false;
    if (err == 0)
        return true;
    tree_describe(t, out);
    out->st = t->st;
    out->error = -err;
    return false;
}

bool tree_next(struct tree *t, struct tree_entry *out)
{
    struct level *level;
    int err;

    if (!t->begun) {
        t->begun = true;
        if (tree_take(t, tree_look_root(t), out))
            return true;
    }
    for (;;) {
        if (t->enters && !tree_enter(t, out))
            return true;
        if (t->n_levels == 0)
            return false;
        level = &t->levels[t->n_levels - 1];
        if (level->next == level->names.n) {
            level_pop(t);
            tree_describe(t, out);
            out->kind = TREE_DIR;
            out->st = t->st;
            return true;
        }
        err = tree_append(t, level->path_len, level->names.names[level->next]);
        level->next++;
        if (tree_take(t, err < 0 ? err : tree_look(t), out))
            return true;
    }
}

void tree_pass(struct tree *t)
{
    t->enters = false;
}

bool tree_is_same(const struct tree_entry *e)
{
    const char *base = e->path;
    int fd = e->walked ? name_dir_parent(e->dir, e->below, &base, NULL) : AT_FDCWD;
    const struct stat *was = &e->st;
    struct stat st;

    if ((e->walked && fd < 0) || fstatat(fd, base, &st, e->walked ? AT_SYMLINK_NOFOLLOW : 0) < 0)
        return false;
    return st.st_dev == was->st_dev && st.st_ino == was->st_ino && st.st_size == was->st_size &&
           st.st_mtim.tv_sec == was->st_mtim.tv_sec && st.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
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
