/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks before anything is sent. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/say.h"
#include "sluice/sender/sender.h"

static bool rules_leave_out(void *context, const char *name, bool directory)
{
    const struct sync_options *o = context;

    return filter_excludes(o->filter, name, directory) ||
           (o->chosen != NULL && !chosen_has(o->chosen, name, directory));
}

struct tree_rules sender_rules(const struct sender *s)
{
    const struct sync_options *o = s->options->sync;
    bool all = o == NULL || (o->filter == NULL && o->chosen == NULL);

    return (struct tree_rules){.sync = o != NULL,
                               .contents = o != NULL && o->chosen != NULL,
                               .leave_out = all ? NULL : rules_leave_out,
                               .context = (void *)(uintptr_t)o};
}

/* Looks at what is to be sent. In a sync, a link is sent as such, unless a slash is behind it. 0 or
 * a negative errno. */
static int check_look(const char *path, bool sync, struct stat *st)
{
    return (sync ? lstat(path, st) : stat(path, st)) < 0 ? -errno : 0;
}

/* Refuses a path that cannot be sent; adds its size to *total_bytes (UINT64_MAX: not known). */
static int check_path(const struct sender_options *o, const char *path, uint64_t *total_bytes)
{
    bool sync = o->sync != NULL;
    char safe[512];
    struct stat st;
    int err;

    if (strcmp(path, "-") == 0 && !sync) {
        *total_bytes = UINT64_MAX;
        return SAY_OK;
    }
    text_safe(safe, sizeof safe, path);
    err = check_look(path, sync, &st);
    if (err < 0)
        return say_error(SAY_LOCAL, "%s: %s; check the name", safe, strerror(-err));
    if (S_ISLNK(st.st_mode))
        return SAY_OK;
    if (S_ISDIR(st.st_mode) && !o->recursive)
        return say_error(SAY_LOCAL, "%s: is a directory; add -r to send what is in it", safe);
    if (S_ISSOCK(st.st_mode))
        return say_error(SAY_LOCAL, "%s: is a socket; name a file", safe);
    if (faccessat(AT_FDCWD, path, R_OK | (S_ISDIR(st.st_mode) ? X_OK : 0), AT_EACCESS) < 0)
        return say_error(SAY_LOCAL, "%s: %s; make it readable or leave it out", safe,
                         strerror(errno));
    if (!S_ISREG(st.st_mode) || *total_bytes == UINT64_MAX)
        *total_bytes = UINT64_MAX;
    else
        *total_bytes += (uint64_t)st.st_size;
    return SAY_OK;
}

int sender_check(const struct sender_options *o, uint64_t *total_bytes)
{
    int i, inputs = 0, code = SAY_OK;
    uint64_t bytes = 0;

    for (i = 0; i < o->n_paths && code == SAY_OK; i++) {
        code = check_path(o, o->paths[i], &bytes);
        inputs += strcmp(o->paths[i], "-") == 0;
    }
    if (code == SAY_OK && inputs > 1)
        code =
            options_wrong(o->copy != NULL ? "cp" : "send", "standard input can be sent only once");
    *total_bytes = bytes == UINT64_MAX ? 0 : bytes;
    return code;
}
