/* SPDX-License-Identifier: BSD-3-Clause */
/* The names in a directory. See listing.h. */
#include "sluice/files/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int listing_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names one behind the other into l->text. 0 or a negative errno. */
static int listing_collect(struct listing *l, DIR *dir)
{
    size_t used = 0, size = 0;
    const struct dirent *e;

    while (errno = 0, (e = readdir(dir)) != NULL) {
        size_t len = strlen(e->d_name) + 1;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (used + len > size) {
            char *bigger = realloc(l->text, (size + len) * 2);

            if (bigger == NULL)
                return -ENOMEM;
            l->text = bigger;
            size = (size + len) * 2;
        }
        memcpy(l->text + used, e->d_name, len);
        used += len;
        l->n++;
    }
    return -errno;
}

int listing_read(struct listing *l, int dir_fd)
{
    int err, fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    char *at;
    size_t i;

    memset(l, 0, sizeof *l);
    if (dir == NULL) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        return err;
    }
    err = listing_collect(l, dir);
    closedir(dir);
    if (err == 0 && l->n > 0) {
        l->names = malloc(l->n * sizeof *l->names);
        err = l->names == NULL ? -ENOMEM : 0;
    }
    if (err < 0) {
        listing_free(l);
        return err;
    }
    for (i = 0, at = l->text; i < l->n; i++, at += strlen(at) + 1)
        l->names[i] = at;
    if (l->n > 0)
        qsort(l->names, l->n, sizeof *l->names, listing_compare);
    return 0;
}

void listing_free(struct listing *l)
{
    free(l->text);
    free(l->names);
    memset(l, 0, sizeof *l);
}
