/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended attributes. See xattr.h. */
#include "sluice/attributes/xattr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "sluice/attributes/fd_path.h"

bool xattr_taken(const char *name, bool root)
{
    if (strncmp(name, "user.", 5) == 0)
        return true;
    return root && strncmp(name, "system.", 7) != 0 && strcmp(name, "security.selinux") != 0;
}

static int xattr_compare(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

int xattr_names(struct xattr_names *x, int fd, bool root)
{
    char path[FD_PATH_MAX];
    ssize_t len, at;
    size_t most = 1;

    *x = (struct xattr_names){.text = malloc(XATTR_NAMES_MAX)};
    if (x->text == NULL)
        return -ENOMEM;
    len = listxattr(fd_path(path, fd), x->text, XATTR_NAMES_MAX);
    if (len < 0 && errno != EOPNOTSUPP) {
        int err = -errno;

        xattr_names_free(x);
        return err;
    }
    for (at = 0; at < len; at += (ssize_t)strlen(x->text + at) + 1)
        most++;
    x->names = malloc(most * sizeof *x->names);
    if (x->names == NULL) {
        xattr_names_free(x);
        return -ENOMEM;
    }
    for (at = 0; at < len; at += (ssize_t)strlen(x->text + at) + 1) {
        if (xattr_taken(x->text + at, root))
            x->names[x->n++] = x->text + at;
    }
    if (x->n > 0)
        qsort(x->names, x->n, sizeof *x->names, xattr_compare);
    return 0;
}

void xattr_names_free(struct xattr_names *x)
{
    free(x->names);
    free(x->text);
    *x = (struct xattr_names){0};
}

ssize_t xattr_get(int fd, const char *name, uint8_t value[XATTR_VALUE_MAX])
{
    char path[FD_PATH_MAX];
    ssize_t len = getxattr(fd_path(path, fd), name, value, XATTR_VALUE_MAX);

    return len < 0 ? -errno : len;
}

int xattr_put(int fd, const char *name, const void *value, size_t len)
{
    char path[FD_PATH_MAX];

    return setxattr(fd_path(path, fd), name, value, len, 0) < 0 ? -errno : 0;
}

int xattr_remove(int fd, const char *name)
{
    char path[FD_PATH_MAX];

    return removexattr(fd_path(path, fd), name) < 0 ? -errno : 0;
}

/* ---- as an ATTR record has them ------------------------------------------------------------ */

/* The next attribute that can be set here, with its name. False: there is none. *left_out: whether
 * one was passed over. */
static bool xattr_next(const uint8_t *items, uint32_t len_bytes, uint32_t *at, bool root,
                       struct attribute *a, char name[ATTRIBUTE_NAME_MAX + 1], bool *left_out)
{
    while (attributes_next(items, len_bytes, at, a)) {
        if (a->kind != ATTRIBUTE_XATTR)
            continue;
        memcpy(name, a->name, a->name_len);
        name[a->name_len] = 0;
        if (xattr_taken(name, root))
            return true;
        *left_out = true;
    }
    return false;
}

/* Whether the file has this very attribute. */
static bool xattr_same(int fd, const char *name, const struct attribute *a)
{
    static uint8_t value[XATTR_VALUE_MAX];

    return xattr_get(fd, name, value) == (ssize_t)a->len_bytes &&
           memcmp(value, a->value, a->len_bytes) == 0;
}

bool xattr_differs(int fd, const uint8_t *items, uint32_t len_bytes, bool root)
{
    char name[ATTRIBUTE_NAME_MAX + 1];
    struct xattr_names now;
    struct attribute a;
    uint32_t at = 0;
    bool differs, left_out;
    size_t n = 0;

    if (xattr_names(&now, fd, root) < 0)
        return true;
    differs = false;
    while (!differs && xattr_next(items, len_bytes, &at, root, &a, name, &left_out)) {
        differs = !xattr_same(fd, name, &a);
        n++;
    }
    differs |= n != now.n;
    xattr_names_free(&now);
    return differs;
}

/* Removes what the items do not have. Both are in the same order. 0 or the first errno. */
static int xattr_clear(int fd, const struct xattr_names *now, const uint8_t *items,
                       uint32_t len_bytes, bool root)
{
    char name[ATTRIBUTE_NAME_MAX + 1];
    struct attribute a;
    bool left_out, more;
    uint32_t at = 0;
    size_t i;
    int err = 0;

    more = xattr_next(items, len_bytes, &at, root, &a, name, &left_out);
    for (i = 0; i < now->n; i++) {
        int e;

        while (more && strcmp(name, now->names[i]) < 0)
            more = xattr_next(items, len_bytes, &at, root, &a, name, &left_out);
        if (more && strcmp(name, now->names[i]) == 0)
            continue;
        e = xattr_remove(fd, now->names[i]);
        if (e < 0 && e != -ENODATA && err == 0)
            err = e;
    }
    return err;
}

int xattr_set(int fd, const uint8_t *items, uint32_t len_bytes, bool root)
{
    char name[ATTRIBUTE_NAME_MAX + 1];
    struct xattr_names now;
    struct attribute a;
    uint32_t at = 0;
    bool left_out = false;
    int err = xattr_names(&now, fd, root);

    if (err == 0) {
        err = xattr_clear(fd, &now, items, len_bytes, root);
        xattr_names_free(&now);
    }
    while (xattr_next(items, len_bytes, &at, root, &a, name, &left_out)) {
        int e = xattr_same(fd, name, &a) ? 0 : xattr_put(fd, name, a.value, a.len_bytes);

        if (e < 0 && err == 0)
            err = e;
    }
    return err == 0 && left_out ? -EPERM : err;
}
