/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads attributes. See inspect.h. */
#include "sluice/attributes/inspect.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "sluice/attributes/acl.h"
#include "sluice/attributes/xattr.h"
#include "sluice/files/record.h"

/* Header, and name, and number of a link, an owner and a group. */
#define IDS_BYTES (3 * (ATTRIBUTE_HEADER_BYTES + ATTRIBUTE_NAME_MAX + 8))

void inspect_init(struct inspect *i, uint32_t chosen)
{
    memset(i, 0, sizeof *i);
    i->chosen = chosen;
    i->root = geteuid() == 0;
    i->groups.groups = true;
    i->list.max_bytes = inspect_max_bytes(i);
}

void inspect_fini(struct inspect *i)
{
    ids_fini(&i->users);
    ids_fini(&i->groups);
    attribute_list_fini(&i->list);
}

uint32_t inspect_max_bytes(const struct inspect *i)
{
    if (i->chosen == 0)
        return 0;
    return inspect_opens(i) ? RECORD_ATTR_MAX : IDS_BYTES;
}

bool inspect_opens(const struct inspect *i)
{
    return (i->chosen & (ATTRIBUTES_ACLS | ATTRIBUTES_XATTRS)) != 0;
}

void inspect_stat(struct inspect *i, const struct stat *st, uint64_t link)
{
    bool numeric = (i->chosen & ATTRIBUTES_NUMERIC) != 0;

    i->list.len_bytes = 0;
    i->list.full = false;
    i->flags = 0;
    if (link != 0)
        attribute_put_number(&i->list, ATTRIBUTE_LINK, "", link);
    if ((i->chosen & ATTRIBUTES_OWNERS) != 0)
        attribute_put_number(&i->list, ATTRIBUTE_OWNER,
                             numeric ? "" : ids_name(&i->users, st->st_uid), st->st_uid);
    if ((i->chosen & ATTRIBUTES_GROUPS) != 0)
        attribute_put_number(&i->list, ATTRIBUTE_GROUP,
                             numeric ? "" : ids_name(&i->groups, st->st_gid), st->st_gid);
}

/* Adds the entries of a list. 0 or a negative errno. */
static int inspect_acl(struct inspect *i, int fd, enum acl_list which)
{
    bool numeric = (i->chosen & ATTRIBUTES_NUMERIC) != 0;
    uint8_t kind = which == ACL_ACCESS ? ATTRIBUTE_ACL : ATTRIBUTE_DEFAULT_ACL;
    struct acl acl = {0};
    int err = acl_read(&acl, fd, which);
    uint32_t k;

    for (k = 0; k < acl.n && err == 0; k++) {
        const struct acl_entry *e = &acl.entries[k];
        const char *name = numeric               ? ""
                           : e->tag == ACL_USER  ? ids_name(&i->users, e->id)
                           : e->tag == ACL_GROUP ? ids_name(&i->groups, e->id)
                                                 : "";
        uint8_t value[8];
        struct attribute a = {.kind = kind,
                              .name_len = (uint8_t)strlen(name),
                              .len_bytes = sizeof value,
                              .name = (const uint8_t *)name,
                              .value = value};

        bytes_put_u16(value, e->tag);
        bytes_put_u16(value + 2, e->perm);
        bytes_put_u32(value + 4, e->id);
        attribute_put(&i->list, &a);
    }
    acl_fini(&acl);
    return err;
}

/* Adds the extended attributes. 0 or a negative errno. */
static int inspect_xattrs(struct inspect *i, int fd)
{
    static uint8_t value[XATTR_VALUE_MAX];
    struct xattr_names x;
    int err = xattr_names(&x, fd, i->root);
    size_t k;

    for (k = 0; err == 0 && k < x.n; k++) {
        ssize_t len = xattr_get(fd, x.names[k], value);
        struct attribute a = {.kind = ATTRIBUTE_XATTR,
                              .name_len = (uint8_t)strlen(x.names[k]),
                              .len_bytes = len > 0 ? (uint32_t)len : 0,
                              .name = (const uint8_t *)x.names[k],
                              .value = value};

        if (len >= 0)
            attribute_put(&i->list, &a);
        else if (len != -ENODATA) /* it was removed meanwhile */
            err = (int)len;
    }
    xattr_names_free(&x);
    return err;
}

int inspect_open(struct inspect *i, int fd, const struct stat *st)
{
    bool link = S_ISLNK(st->st_mode);
    uint32_t before = i->list.len_bytes;
    int err = fd < 0 ? fd : 0;

    if (err == 0 && (i->chosen & ATTRIBUTES_ACLS) != 0 && !link)
        err = inspect_acl(i, fd, ACL_ACCESS);
    if (err == 0 && (i->chosen & ATTRIBUTES_ACLS) != 0 && S_ISDIR(st->st_mode))
        err = inspect_acl(i, fd, ACL_DEFAULT);
    if (err == 0 && i->list.full)
        err = -E2BIG;
    if (err == 0 && (i->chosen & ATTRIBUTES_ACLS) != 0 && !link)
        i->flags |= RECORD_ALL_ACLS;
    before = err == 0 ? i->list.len_bytes : before;
    if (err == 0 && (i->chosen & ATTRIBUTES_XATTRS) != 0)
        err = inspect_xattrs(i, fd);
    if (err == 0 && i->list.full)
        err = -E2BIG;
    if (err == 0 && (i->chosen & ATTRIBUTES_XATTRS) != 0)
        i->flags |= RECORD_ALL_XATTRS;
    if (err != 0)
        i->list.len_bytes = before; /* what was read before it failed */
    return err;
}
