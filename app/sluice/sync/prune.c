/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes at the receiver what the sender does not have. See prune.h. */
#include "sluice/sync/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/files/listing.h"
#include "sluice/files/part_name.h"
#include "sluice/loop.h"
#include "sluice/say.h"
#include "sluice/sync/item.h"

struct prune {
    const struct sync *sync;
    struct remove_rules rules;
    bool quiet;
    int code;
};

static void prune_removed(void *context, const char *path, bool directory)
{
    item_deleted(context, path, directory);
}

/* What is excluded takes no part in the sync. */
static bool prune_kept(void *context, const char *path, bool directory)
{
    const struct sync_options *o = context;

    return filter_excludes(o->filter, path, directory);
}

struct remove_rules prune_rules(const struct sync_options *o)
{
    return (struct remove_rules){.keep = o->filter != NULL ? prune_kept : NULL,
                                 .removed = prune_removed,
                                 .context = (void *)(uintptr_t)o,
                                 .dry_run = o->dry_run};
}

static void prune_failed(struct prune *p, const char *path, int err)
{
    char safe[512];

    if (err == -EINTR)
        return; /* something asked to stop */
    text_safe(safe, sizeof safe, path[0] == 0 ? "." : path);
    if (err == -ENOTEMPTY && !p->quiet)
        say_note("%s: not deleted, because something in it is to stay", safe);
    if (err == -ENOTEMPTY)
        return;
    p->code = say_error(SAY_LOCAL, "%s: cannot be deleted: %s; delete it by hand", safe,
                        err == -EXDEV ? "something is mounted there" : strerror(-err));
}

/* Removes an entry, unless it is to stay. True if the directory has changed. */
static bool prune_entry(struct prune *p, int fd, const char *base, const char *path)
{
    struct stat st;
    int err;

    if (part_name_is(base) || fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        filter_excludes(p->sync->options->filter, path, S_ISDIR(st.st_mode)))
        return false;
    err = remove_entry(&p->rules, fd, base, path);
    if (err < 0)
        prune_failed(p, path, err);
    return !p->rules.dry_run;
}

static void prune_directory(struct prune *p, int dir_fd, const char *base, const char *path);

/* Looks at all that is in the open directory. True if it has changed. */
static bool prune_content(struct prune *p, int fd, const char *path)
{
    const struct name_set *names = &p->sync->names;
    bool changed = false, named = name_set_has(names, SYNC_DIRECTORY, path);
    struct listing l;
    size_t i;
    int err = remove_stops() ? -EINTR : listing_read(&l, fd);

    if (err < 0) {
        prune_failed(p, path, err);
        return false;
    }
    for (i = 0; i < l.n && loop_code() == 0; i++) {
        char *below = remove_join(path, l.names[i]);

        if (below == NULL)
            p->code = say_error(SAY_RESOURCE, "no memory; end other programs first");
        else if (name_set_has(names, SYNC_DIRECTORY, below))
            prune_directory(p, fd, l.names[i], below);
        else if (named && !name_set_has(names, SYNC_SEEN, below))
            changed |= prune_entry(p, fd, l.names[i], below);
        free(below);
    }
    listing_free(&l);
    return changed;
}

/* Looks into a directory, and leaves mode and time as they were. */
static void prune_directory(struct prune *p, int dir_fd, const char *base, const char *path)
{
    struct stat st;
    int fd = remove_open(dir_fd, base, !p->rules.dry_run, &st);

    if (fd < 0) {
        /* In a dry run, and before anything is sent, something else may still be in the way of the
         * directory. */
        if (!p->rules.dry_run &&
            !(p->sync->options->prune_before && (fd == -ENOTDIR || fd == -ELOOP)))
            prune_failed(p, path, fd);
        return;
    }
    if (prune_content(p, fd, path)) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};

        if (futimens(fd, times) < 0)
            prune_failed(p, path, -errno);
    }
    remove_close(fd, &st);
}

int prune_run(const struct sync *s, const struct destination *d, bool quiet)
{
    struct prune p = {.sync = s, .rules = prune_rules(s->options), .quiet = quiet};

    if (d->dir_fd >= 0)
        prune_directory(&p, d->dir_fd, ".", "");
    return p.code;
}
