/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a directory with a manifest. See check.h. */
#include "sluice/manifest/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/name.h"
#include "sluice/files/tree.h"
#include "sluice/loop.h"
#include "sluice/manifest/entry.h"
#include "sluice/manifest/hasher.h"
#include "sluice/say.h"

/* Prints "WORD NAME". A name with a line break has escapes, as in the manifest, and the line then
 * begins with a backslash. */
static void check_print(const struct check *c, const char *word, const char *name)
{
    size_t size = 2 * strlen(name) + 1;
    char *shown = malloc(size);
    bool escaped = false;

    if (shown == NULL)
        return;
    if (c->terminal)
        text_safe(shown, size, name);
    else
        escaped = entry_escape(shown, name);
    if (c->terminal)
        say_bar("");
    fprintf(c->out, "%s%-8s %s\n", escaped ? "\\" : "", word, shown);
    free(shown);
}

static void check_right(struct check *c, const char *name)
{
    c->right++;
    if (c->verbose)
        check_print(c, "ok", name);
}

static void check_flaw(struct check *c, uint64_t *count, const char *word, const char *name)
{
    (*count)++;
    check_print(c, word, name);
}

static void check_unread(struct check *c, const char *name, const char *cause, const char *cure)
{
    char safe[512];

    check_flaw(c, &c->unread, "unread", name);
    say_error(SAY_LOCAL, "%s: %s; %s", text_safe(safe, sizeof safe, name), cause, cure);
}

/* ---- files --------------------------------------------------------------------------------- */

static void check_done(void *context, struct hasher_job *job)
{
    struct check *c = context;
    const struct manifest_item *item = manifest_find(c->manifest, job->name);

    if (job->err == -ECANCELED)
        return;
    if (job->err == 0)
        c->bytes += job->identity.bytes;
    if (job->err == 0 && memcmp(job->hash, item->hash, sizeof job->hash) == 0)
        check_right(c, job->name);
    else if (job->err == 0 || job->err == -EISDIR)
        check_flaw(c, &c->differ, "differs", job->name);
    else if (job->err == -ENOENT)
        check_flaw(c, &c->missing, "missing", job->name);
    else if (job->err == -ESTALE)
        check_unread(c, job->name, "it changed while it was read",
                     "verify it when no program writes to it");
    else
        check_unread(c, job->name, strerror(-job->err), "make it readable");
}

static int check_files(struct check *c)
{
    const struct manifest *m = c->manifest;
    struct hasher h = {.jobs = calloc(m->n + 1, sizeof *h.jobs),
                       .root_fd = c->dir_fd,
                       .threads = c->threads,
                       .stops = true,
                       .quiet = c->quiet,
                       .total_bytes = m->bytes,
                       .context = c,
                       .done = check_done};
    size_t i;
    int err;

    for (i = 0; i < m->n && h.jobs != NULL; i++) {
        if (m->items[i].target != NULL)
            continue;
        h.jobs[h.n].name = m->items[i].name;
        h.jobs[h.n++].path = c->anywhere ? m->items[i].name : NULL;
    }
    err = h.jobs == NULL ? -ENOMEM : hasher_run(&h);
    free(h.jobs);
    if (err == -ENOMEM)
        return say_error(SAY_RESOURCE, "no memory; end other programs first");
    return err < 0 ? loop_code() : SAY_OK;
}

/* ---- links --------------------------------------------------------------------------------- */

/* Reads where the link points. Returns the length or a negative errno. */
static ssize_t link_read(const struct check *c, const char *name, char *target, size_t size)
{
    const char *base = name;
    int fd = c->anywhere ? fcntl(c->dir_fd, F_DUPFD_CLOEXEC, 0)
                         : name_parent(c->dir_fd, name, &base, NULL);
    ssize_t n;

    if (fd < 0)
        return fd;
    n = readlinkat(fd, base, target, size);
    if (n < 0)
        n = -errno;
    close(fd);
    return n;
}

static void check_link(struct check *c, const struct manifest_item *item)
{
    char target[RECORD_TARGET_MAX + 1];
    ssize_t n = link_read(c, item->name, target, sizeof target);

    if (n >= 0 && (size_t)n == strlen(item->target) && memcmp(target, item->target, (size_t)n) == 0)
        check_right(c, item->name);
    else if (n >= 0 || n == -EINVAL)
        check_flaw(c, &c->differ, "differs", item->name);
    else if (n == -ENOENT || n == -ENOTDIR || n == -ELOOP)
        check_flaw(c, &c->missing, "missing", item->name);
    else
        check_unread(c, item->name, strerror((int)-n), "make its directory readable");
}

/* ---- what the manifest does not have ------------------------------------------------------- */

static void check_entry(struct check *c, const struct tree_entry *e)
{
    bool own = c->own.st_ino != 0 && e->st.st_ino == c->own.st_ino && e->st.st_dev == c->own.st_dev;

    if (e->kind == TREE_DIR || e->kind == TREE_ENTER || own)
        return;
    if (e->kind == TREE_FAILED)
        check_unread(c, e->name, strerror(e->error), "make it readable");
    else if (manifest_find(c->manifest, e->name) == NULL)
        check_flaw(c, &c->extras, "extra", e->name);
}

static int check_extras(struct check *c)
{
    struct tree *t = tree_open(c->dir, (struct tree_rules){.sync = true, .contents = true});
    struct tree_entry e;
    char safe[512];

    if (t == NULL)
        return say_error(SAY_LOCAL, "%s: %s; name a directory that can be read",
                         text_safe(safe, sizeof safe, c->dir), strerror(errno));
    while (loop_code() == 0 && tree_next(t, &e))
        check_entry(c, &e);
    tree_close(t);
    return loop_code();
}

int check_run(struct check *c)
{
    char safe[512];
    int code;
    size_t i;

    c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->dir_fd < 0)
        return say_error(SAY_LOCAL, "%s: %s; name a directory that can be read",
                         text_safe(safe, sizeof safe, c->dir), strerror(errno));
    code = check_files(c);
    for (i = 0; i < c->manifest->n && code == SAY_OK; i++) {
        if (c->manifest->items[i].target != NULL)
            check_link(c, &c->manifest->items[i]);
    }
    if (code == SAY_OK && c->extra)
        code = check_extras(c);
    close(c->dir_fd);
    if (code == SAY_OK && c->missing + c->differ + c->extras > 0)
        code = SAY_TRANSFER;
    if (code == SAY_OK && c->unread > 0)
        code = SAY_LOCAL;
    return code;
}
