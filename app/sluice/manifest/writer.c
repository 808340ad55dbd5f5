/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the manifest of a run. See writer.h. */
#include "sluice/manifest/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/destination.h"
#include "sluice/loop.h"
#include "sluice/manifest/entry.h"
#include "sluice/manifest/hasher.h"
#include "sluice/say.h"

#define INCOMPLETE ".incomplete"

/* ---- opening ------------------------------------------------------------------------------- */

static int writer_failed(const struct writer *w, int err, const char *cure)
{
    return say_error(SAY_LOCAL, "--manifest %s: %s; %s", w->shown, strerror(err), cure);
}

/* Makes the temporary file. */
static int writer_create(struct writer *w, const char *dir)
{
    w->mode = 0666 & ~destination_umask();
    w->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->dir_fd < 0)
        return writer_failed(w, errno, "name a file in a directory that is there");
    w->fd = part_name_open(&w->temporary, w->dir_fd, w->base, false);
    return w->fd < 0 ? writer_failed(w, -w->fd, "name a file in a directory that can be written")
                     : SAY_OK;
}

int writer_open(struct writer *w, const char *path)
{
    char real[PATH_MAX], *slash;
    struct stat st;

    memset(w, 0, sizeof *w);
    w->fd = w->dir_fd = w->root_fd = -1;
    if (path == NULL)
        return SAY_OK;
    text_safe(w->shown, sizeof w->shown, path);
    if (strlen(path) >= sizeof real)
        return writer_failed(w, ENAMETOOLONG, "choose a shorter path");
    /* A link that the user names is followed: the file that it points to is replaced. */
    if (realpath(path, real) == NULL)
        strcpy(real, path);
    slash = strrchr(real, '/');
    if (strcmp(path, "-") == 0 || (stat(real, &st) == 0 && !S_ISREG(st.st_mode)) ||
        (slash != NULL && slash[1] == 0))
        return say_error(SAY_USAGE, "--manifest %s: is no file; name one that is to be written",
                         w->shown);
    if (strlen(slash == NULL ? real : slash + 1) > NAME_MAX - (sizeof INCOMPLETE - 1))
        return writer_failed(w, ENAMETOOLONG, "choose a shorter name");
    strcpy(w->base, slash == NULL ? real : slash + 1);
    if (slash != NULL)
        *slash = 0;
    return writer_create(w, slash == NULL ? "." : slash == real ? "/" : real);
}

/* ---- what the run tells -------------------------------------------------------------------- */

/* NULL: nothing is written, or no memory. */
static struct manifest_item *writer_add(struct writer *w, const char *name, const char *target)
{
    struct manifest_item *item;

    if (w == NULL || w->fd < 0)
        return NULL;
    item = manifest_add(&w->manifest, name, target);
    w->no_memory |= item == NULL;
    return item;
}

void writer_file(struct writer *w, const char *name, const uint8_t hash[RECORD_HASH_BYTES],
                 uint64_t bytes)
{
    struct manifest_item *item = writer_add(w, name, NULL);

    if (item == NULL)
        return;
    memcpy(item->hash, hash, sizeof item->hash);
    item->bytes = bytes;
}

void writer_link(struct writer *w, const char *name, const char *target)
{
    writer_add(w, name, target);
}

/* path "": the name, below the root. */
static void writer_unread(struct writer *w, const char *name, const char *path,
                          const struct stat *st)
{
    struct manifest_item *item = writer_add(w, name, NULL);
    size_t size = strlen(path) + 1;

    if (item == NULL)
        return;
    item->unread = calloc(1, sizeof *item->unread + size);
    if (item->unread == NULL) {
        w->no_memory = true;
        return;
    }
    memcpy(item->unread->path, path, size);
    if (st != NULL)
        item->unread->identity = identity_of(st);
}

void writer_source(struct writer *w, const char *name, const char *path, const struct stat *st)
{
    writer_unread(w, name, path, st);
}

void writer_there(struct writer *w, const char *name, int root_fd)
{
    if (w != NULL && w->fd >= 0 && w->root_fd < 0)
        w->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    writer_unread(w, name, "", NULL);
}

/* ---- files whose hash is not known --------------------------------------------------------- */

struct reading {
    struct writer *writer;
    struct manifest_item **items; /* of the jobs */
    struct hasher hasher;
    int code;
};

static void reading_done(void *context, struct hasher_job *job)
{
    struct reading *r = context;
    struct manifest_item *item = r->items[job - r->hasher.jobs];
    const char *cause = job->err == -ESTALE   ? "it changed while it was read"
                        : job->err == -EISDIR ? "it is no regular file any more"
                                              : strerror(-job->err);
    char safe[512];

    if (job->err == 0 && job->path != NULL &&
        !identity_same(&job->identity, &item->unread->identity)) {
        job->err = -ESTALE;
        cause = "it changed since it was compared";
    }
    if (job->err == -ECANCELED)
        return;
    if (job->err < 0) {
        r->code =
            say_error(SAY_LOCAL, "%s: %s; its hash is missing in the manifest, so run this again",
                      text_safe(safe, sizeof safe, job->name), cause);
        return;
    }
    memcpy(item->hash, job->hash, sizeof item->hash);
    item->bytes = job->identity.bytes;
    free(item->unread);
    item->unread = NULL;
}

/* Makes a job of each file that is to be read. */
static void reading_collect(struct reading *r)
{
    const struct manifest *m = &r->writer->manifest;
    struct hasher *h = &r->hasher;
    size_t i;

    for (i = 0; i < m->n; i++) {
        struct manifest_item *item = &m->items[i];
        const char *path = item->unread != NULL ? item->unread->path : "";

        if (item->unread == NULL)
            continue;
        r->items[h->n] = item;
        h->jobs[h->n].name = item->name;
        h->jobs[h->n].path = path[0] != 0 ? path : NULL;
        h->total_bytes += item->unread->identity.bytes;
        h->n++;
    }
}

/* Reads the files whose hash the run did not need. Returns an exit code. */
static int writer_read(struct writer *w, bool quiet)
{
    const struct manifest *m = &w->manifest;
    /* If a signal was the end of the run that its user meant, it does not end this. */
    struct reading r = {.writer = w,
                        .hasher = {.root_fd = w->root_fd >= 0 ? w->root_fd : AT_FDCWD,
                                   .stops = loop_code() == 0,
                                   .quiet = quiet,
                                   .context = &r,
                                   .done = reading_done}};
    int err;

    r.items = calloc(m->n + 1, sizeof *r.items);
    r.hasher.jobs = calloc(m->n + 1, sizeof *r.hasher.jobs);
    if (r.items == NULL || r.hasher.jobs == NULL) {
        err = -ENOMEM;
    } else {
        reading_collect(&r);
        err = hasher_run(&r.hasher);
    }
    free(r.items);
    free(r.hasher.jobs);
    if (err == -ENOMEM)
        return say_error(SAY_RESOURCE, "no memory for the manifest; end other programs first");
    return err < 0 ? loop_code() : r.code;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Whether the item is a line of a manifest that ends so. A sender notes a link before the receiver
 * has it, so one that is not whole has no links. */
static bool writer_lists(const struct manifest_item *item, enum entry_kind end)
{
    return item->unread == NULL && (item->target == NULL || end == ENTRY_COMPLETE);
}

static size_t writer_listed(const struct writer *w, enum entry_kind end)
{
    size_t i, n = 0;

    for (i = 0; i < w->manifest.n; i++)
        n += writer_lists(&w->manifest.items[i], end);
    return n;
}

/* Writes the lines. Returns 0 or a negative errno; *end: the last one. */
static int writer_lines(const struct writer *w, FILE *out, struct entry *end)
{
    const struct manifest *m = &w->manifest;
    char *text = malloc(ENTRY_TEXT_MAX);
    struct entry e = {.kind = ENTRY_BEGIN};
    size_t i;

    if (text == NULL)
        return -ENOMEM;
    fwrite(text, 1, entry_write(&e, text), out);
    fputs("# XXH3-128 of files. Check: sluice verify FILE [DIR], or xxhsum -c FILE\n", out);
    for (i = 0; i < m->n; i++) {
        const struct manifest_item *item = &m->items[i];

        if (!writer_lists(item, end->kind))
            continue;
        e = (struct entry){.kind = item->target != NULL ? ENTRY_LINK : ENTRY_FILE,
                           .name = item->name,
                           .target = item->target};
        memcpy(e.hash, item->hash, sizeof e.hash);
        fwrite(text, 1, entry_write(&e, text), out);
        end->links += item->target != NULL;
        end->files += item->target == NULL;
        end->bytes += item->bytes;
    }
    fwrite(text, 1, entry_write(end, text), out);
    free(text);
    return ferror(out) ? -errno : 0;
}

/* Writes the temporary file, and gives it the name. 0 or a negative errno. */
static int writer_finish(struct writer *w, const char *name, struct entry *end)
{
    int err, fd = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

    if (out == NULL) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        return err;
    }
    err = writer_lines(w, out, end);
    if (fclose(out) != 0 && err == 0)
        err = -errno;
    if (err == 0 && (fchmod(w->fd, w->mode) < 0 || fdatasync(w->fd) < 0))
        err = -errno;
    if (err == 0 && !part_name_holds(&w->temporary, w->dir_fd, w->fd))
        err = -ENOENT;
    if (err == 0 && renameat(w->dir_fd, w->temporary.text, w->dir_fd, name) < 0)
        err = -errno;
    if (err == 0)
        w->temporary.text[0] = 0;
    return err;
}

/* Removes the list that an earlier run has left when it failed, if it is one. */
static void writer_supersede(const struct writer *w)
{
    char name[NAME_MAX + 1], begin[ENTRY_TEXT_MAX], found[sizeof begin];
    const struct entry e = {.kind = ENTRY_BEGIN};
    size_t len = entry_write(&e, begin);
    int fd;

    stpcpy(stpcpy(name, w->base), INCOMPLETE);
    fd = openat(w->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, found, len) == (ssize_t)len && memcmp(found, begin, len) == 0)
        unlinkat(w->dir_fd, name, 0);
    close(fd);
}

static void writer_fini(struct writer *w)
{
    if (w->temporary.text[0] != 0 && part_name_holds(&w->temporary, w->dir_fd, w->fd))
        unlinkat(w->dir_fd, w->temporary.text, 0);
    if (w->fd >= 0)
        close(w->fd);
    if (w->dir_fd >= 0)
        close(w->dir_fd);
    if (w->root_fd >= 0)
        close(w->root_fd);
    w->fd = w->dir_fd = w->root_fd = -1;
    manifest_fini(&w->manifest);
}

int writer_close(struct writer *w, int code, bool quiet)
{
    struct entry end = {.kind = ENTRY_COMPLETE};
    char name[NAME_MAX + 1];
    size_t listed;
    int err = 0;

    if (w->fd < 0) {
        writer_fini(w);
        return code;
    }
    manifest_sort(&w->manifest);
    manifest_unique(&w->manifest);
    if (code == SAY_OK && w->no_memory)
        code = say_error(SAY_RESOURCE, "no memory for the manifest; end other programs first");
    if (code == SAY_OK)
        code = writer_read(w, quiet);
    if (code != SAY_OK)
        end.kind = ENTRY_INCOMPLETE;
    /* writer_open() has left room for the longer name. */
    stpcpy(stpcpy(name, w->base), code == SAY_OK ? "" : INCOMPLETE);
    listed = writer_listed(w, end.kind);
    if (code == SAY_OK || listed > 0)
        err = writer_finish(w, name, &end);
    if (err < 0) {
        int failed = writer_failed(w, -err, "make room, or name another file");

        code = code == SAY_OK ? failed : code;
    } else if (code == SAY_OK) {
        writer_supersede(w);
    } else if (listed > 0 && !quiet) {
        say_note("--manifest %s: not written; what arrived is listed in %s" INCOMPLETE, w->shown,
                 w->shown);
    }
    writer_fini(w);
    return code;
}
