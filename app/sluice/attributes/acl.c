/* SPDX-License-Identifier: BSD-3-Clause */
/* Access control lists. See acl.h. */
#include "sluice/attributes/acl.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "sluice/attributes/xattr.h"

#define VERSION     2u
#define ENTRY_BYTES 8u
#define BLOB_MAX    (4 + ACL_ENTRIES_MAX * ENTRY_BYTES)
#define NO_ID       UINT32_MAX

static const char *const acl_names[ACL_LISTS] = {
    [ACL_ACCESS] = "system.posix_acl_access",
    [ACL_DEFAULT] = "system.posix_acl_default",
};

void acl_fini(struct acl *a)
{
    free(a->entries);
    *a = (struct acl){0};
}

int acl_add(struct acl *a, struct acl_entry e)
{
    if (a->n == ACL_ENTRIES_MAX)
        return -E2BIG;
    if (a->n == a->size) {
        uint32_t size = a->size == 0 ? 8 : 2 * a->size;
        struct acl_entry *more = realloc(a->entries, size * sizeof *more);

        if (more == NULL)
            return -ENOMEM;
        a->entries = more;
        a->size = size;
    }
    a->entries[a->n++] = e;
    return 0;
}

static bool acl_named(const struct acl_entry *e)
{
    return e->tag == ACL_USER || e->tag == ACL_GROUP;
}

static int acl_compare(const void *a, const void *b)
{
    const struct acl_entry *x = a, *y = b;

    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool acl_order(struct acl *a)
{
    uint32_t i, seen = 0, named = 0;

    if (a->n == 0)
        return true;
    qsort(a->entries, a->n, sizeof *a->entries, acl_compare);
    for (i = 0; i < a->n; i++) {
        const struct acl_entry *e = &a->entries[i];
        bool once = !acl_named(e);

        if (e->perm > 7 || (e->tag & (e->tag - 1)) != 0 || e->tag == 0 || e->tag > ACL_OTHER ||
            (once && (e->id != 0 || (seen & e->tag) != 0)) || (!once && e->id == NO_ID) ||
            (i > 0 && acl_compare(e - 1, e) == 0))
            return false;
        seen |= e->tag;
        named += !once;
    }
    return (seen & (ACL_USER_OBJ | ACL_GROUP_OBJ | ACL_OTHER)) ==
               (ACL_USER_OBJ | ACL_GROUP_OBJ | ACL_OTHER) &&
           (named == 0 || (seen & ACL_MASK) != 0);
}

int acl_read(struct acl *a, int fd, enum acl_list which)
{
    static uint8_t blob[XATTR_VALUE_MAX];
    ssize_t len = xattr_get(fd, acl_names[which], blob);
    uint32_t version;
    ssize_t at;
    int err = 0;

    a->n = 0;
    if (len == -ENODATA || len == -EOPNOTSUPP)
        return 0;
    if (len < 0)
        return (int)len;
    if (len < 4 || len % ENTRY_BYTES != 4)
        return -EINVAL;
    memcpy(&version, blob, sizeof version);
    if (le32toh(version) != VERSION)
        return -EINVAL;
    for (at = 4; at < len && err == 0; at += ENTRY_BYTES) {
        struct acl_entry e;

        memcpy(&e.tag, blob + at, 2);
        memcpy(&e.perm, blob + at + 2, 2);
        memcpy(&e.id, blob + at + 4, 4);
        e = (struct acl_entry){le16toh(e.tag), le16toh(e.perm), le32toh(e.id)};
        if (!acl_named(&e))
            e.id = 0;
        err = acl_add(a, e);
    }
    if (err == 0 && !acl_order(a))
        err = -EINVAL;
    return err;
}

bool acl_differs(const struct acl *a, int fd, enum acl_list which)
{
    struct acl now = {0};
    bool differs = acl_read(&now, fd, which) < 0 || now.n != a->n ||
                   (a->n > 0 && memcmp(now.entries, a->entries, a->n * sizeof *a->entries) != 0);

    acl_fini(&now);
    return differs;
}

int acl_set(const struct acl *a, int fd, enum acl_list which)
{
    static uint8_t blob[BLOB_MAX];
    uint32_t i, version = htole32(VERSION);
    uint8_t *to = blob + 4;
    int err;

    if (a->n == 0) {
        err = xattr_remove(fd, acl_names[which]);
        return err == -ENODATA || err == -EOPNOTSUPP ? 0 : err;
    }
    memcpy(blob, &version, sizeof version);
    for (i = 0; i < a->n; i++, to += ENTRY_BYTES) {
        const struct acl_entry *e = &a->entries[i];
        uint16_t tag = htole16(e->tag), perm = htole16(e->perm);
        uint32_t id = htole32(acl_named(e) ? e->id : NO_ID);

        memcpy(to, &tag, sizeof tag);
        memcpy(to + 2, &perm, sizeof perm);
        memcpy(to + 4, &id, sizeof id);
    }
    return xattr_put(fd, acl_names[which], blob, (size_t)(to - blob));
}
