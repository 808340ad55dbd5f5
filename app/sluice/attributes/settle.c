/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets owners, groups, modes, ACLs and extended attributes. See settle.h. */
#include "sluice/attributes/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "sluice/attributes/fd_path.h"
#include "sluice/attributes/xattr.h"
#include "sluice/files/record.h"

#define PERMISSIONS 0777u
#define SPECIAL     07000u /* set-user-ID, set-group-ID, sticky */
#define GROUPS_MAX  65536

void settle_init(struct settle *s, uint32_t chosen)
{
    memset(s, 0, sizeof *s);
    s->chosen = chosen;
    s->root = geteuid() == 0;
    s->groups.groups = true;
    s->name = "";
}

void settle_fini(struct settle *s)
{
    int i;

    ids_fini(&s->users);
    ids_fini(&s->groups);
    for (i = 0; i < ACL_LISTS; i++)
        acl_fini(&s->acls[i]);
    free(s->items);
    memset(s, 0, sizeof *s);
}

/* ---- what the sender says ------------------------------------------------------------------ */

static bool settle_copy(struct settle *s, const uint8_t *items, uint32_t len_bytes)
{
    if (len_bytes > s->size) {
        uint8_t *more = realloc(s->items, len_bytes);

        if (more == NULL)
            return false;
        s->items = more;
        s->size = len_bytes;
    }
    if (len_bytes > 0)
        memcpy(s->items, items, len_bytes);
    s->len_bytes = len_bytes;
    return true;
}

static uint32_t settle_number(struct ids *ids, const struct attribute *a, uint32_t id)
{
    return ids_number(ids, (const char *)a->name, a->name_len, id);
}

/* Adds an entry to a list. 0 or a negative errno. */
static int settle_entry(struct settle *s, const struct attribute *a)
{
    struct acl *acl = &s->acls[a->kind == ATTRIBUTE_ACL ? ACL_ACCESS : ACL_DEFAULT];
    struct acl_entry e = {bytes_get_u16(a->value), bytes_get_u16(a->value + 2),
                          bytes_get_u32(a->value + 4)};

    if (e.tag == ACL_USER)
        e.id = settle_number(&s->users, a, e.id);
    else if (e.tag == ACL_GROUP)
        e.id = settle_number(&s->groups, a, e.id);
    return acl_add(acl, e);
}

/* Notes one item. 0 or a negative errno. */
static int settle_item(struct settle *s, const struct attribute *a)
{
    switch (a->kind) {
    case ATTRIBUTE_LINK:
        s->link = bytes_get_u64(a->value);
        return 0;
    case ATTRIBUTE_OWNER:
        s->owner = true;
        s->uid = settle_number(&s->users, a, bytes_get_u32(a->value));
        return 0;
    case ATTRIBUTE_GROUP:
        s->group = true;
        s->gid = settle_number(&s->groups, a, bytes_get_u32(a->value));
        return 0;
    case ATTRIBUTE_ACL:
    case ATTRIBUTE_DEFAULT_ACL:
        return settle_entry(s, a);
    default:
        return 0;
    }
}

const char *settle_take(struct settle *s, const uint8_t *items, uint32_t len_bytes, uint16_t flags)
{
    const char *why = attributes_check(items, len_bytes, s->chosen);
    bool acls = (flags & RECORD_ALL_ACLS) != 0, xattrs = (flags & RECORD_ALL_XATTRS) != 0;
    struct attribute a;
    uint32_t at = 0;
    int i, err = 0;

    if (why != NULL)
        return why;
    if ((acls && (s->chosen & ATTRIBUTES_ACLS) == 0) ||
        (xattrs && (s->chosen & ATTRIBUTES_XATTRS) == 0))
        return "an attribute that was not asked for";
    s->given = s->owner = s->group = false;
    s->link = 0;
    s->flags = flags;
    for (i = 0; i < ACL_LISTS; i++)
        s->acls[i].n = 0;
    if (!settle_copy(s, items, len_bytes))
        return SETTLE_NO_MEMORY;
    while (err == 0 && attributes_next(s->items, len_bytes, &at, &a))
        err = settle_item(s, &a);
    if (err == -ENOMEM)
        return SETTLE_NO_MEMORY;
    if (err < 0 || !acl_order(&s->acls[ACL_ACCESS]) || !acl_order(&s->acls[ACL_DEFAULT]))
        return "an ACL that cannot be";
    s->given = true;
    return NULL;
}

/* ---- what it comes to here ----------------------------------------------------------------- */

/* Whether this process is in the group. */
static bool settle_member(gid_t gid)
{
    static gid_t groups[GROUPS_MAX];
    static int n = -1;
    int i;

    if (n < 0)
        n = getgroups(GROUPS_MAX, groups);
    for (i = 0; i < n; i++) {
        if (groups[i] == gid)
            return true;
    }
    return gid == getegid();
}

/* The owner that something gets; st: what it is now. */
static uid_t settle_uid(const struct settle *s, const struct stat *st)
{
    return s->owner && s->root ? s->uid : st->st_uid;
}

static gid_t settle_gid(const struct settle *s, const struct stat *st)
{
    bool may = s->root || (st->st_uid == geteuid() && settle_member(s->gid));

    return s->group && may ? s->gid : st->st_gid;
}

/* The mode of something that has the owner and group of *st by now; mode: the sender's. */
static mode_t settle_mode(const struct settle *s, const struct stat *st, uint32_t mode)
{
    bool asked = s != NULL && s->given && s->owner && s->group;

    if (!asked)
        return (st->st_mode & SPECIAL) | (mode & PERMISSIONS);
    if (st->st_uid == s->uid && st->st_gid == s->gid)
        return mode & (SPECIAL | PERMISSIONS);
    return mode & ((st->st_mode & SPECIAL) | PERMISSIONS);
}

void settle_foresee(struct settle *s, const struct stat *st)
{
    if (s == NULL || !s->given)
        return;
    if (s->owner && settle_uid(s, st) != s->uid)
        loss_note(&s->losses, LOSS_OWNER, s->name, -EPERM);
    if (s->group && settle_gid(s, st) != s->gid)
        loss_note(&s->losses, LOSS_GROUP, s->name, -EPERM);
}

/* Whether the open file has other ACLs than the sender's. A link has none. */
static bool settle_acls_differ(const struct settle *s, int fd, const struct stat *st)
{
    if ((s->flags & RECORD_ALL_ACLS) == 0 || S_ISLNK(st->st_mode))
        return false;
    return acl_differs(&s->acls[ACL_ACCESS], fd, ACL_ACCESS) ||
           (S_ISDIR(st->st_mode) && acl_differs(&s->acls[ACL_DEFAULT], fd, ACL_DEFAULT));
}

void settle_look(struct settle *s, int dir_fd, const char *base, const struct stat *st,
                 uint32_t mode)
{
    struct stat then;
    int fd;

    if (s == NULL)
        return;
    s->differs = 0;
    if (!s->given || st == NULL)
        return;
    then = *st;
    then.st_uid = settle_uid(s, st);
    then.st_gid = settle_gid(s, st);
    if (then.st_uid != st->st_uid)
        s->differs |= SETTLE_OWNER;
    if (then.st_gid != st->st_gid)
        s->differs |= SETTLE_GROUP;
    if (!S_ISLNK(st->st_mode) && ((settle_mode(s, &then, mode) ^ st->st_mode) & 07777) != 0)
        s->differs |= SETTLE_MODE;
    if ((s->flags & (RECORD_ALL_ACLS | RECORD_ALL_XATTRS)) == 0)
        return;
    fd = openat(dir_fd, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (settle_acls_differ(s, fd, st))
        s->differs |= SETTLE_ACL;
    if ((s->flags & RECORD_ALL_XATTRS) != 0 && xattr_differs(fd, s->items, s->len_bytes, s->root))
        s->differs |= SETTLE_XATTR;
    close(fd);
}

/* ---- setting it ---------------------------------------------------------------------------- */

static int settle_chmod(int fd, mode_t mode)
{
    char path[FD_PATH_MAX];

    if (fchmod(fd, mode) == 0)
        return 0;
    if (errno != EBADF) /* O_PATH */
        return -errno;
    return chmod(fd_path(path, fd), mode) < 0 ? -errno : 0;
}

/* Sets owner and group of what is *st, which then says what it is. */
static void settle_ids(struct settle *s, int fd, struct stat *st)
{
    uid_t uid = settle_uid(s, st);
    gid_t gid = settle_gid(s, st);
    int err = 0;

    settle_foresee(s, st);
    if (uid == st->st_uid && gid == st->st_gid)
        return;
    if (fchownat(fd, "", uid == st->st_uid ? (uid_t)-1 : uid, gid == st->st_gid ? (gid_t)-1 : gid,
                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
        err = -errno;
    if (err < 0 && uid != st->st_uid)
        loss_note(&s->losses, LOSS_OWNER, s->name, err);
    if (err < 0 && gid != st->st_gid)
        loss_note(&s->losses, LOSS_GROUP, s->name, err);
    /* This takes set-user-ID and set-group-ID away. */
    (void)!fstatat(fd, "", st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

/* Sets ACLs, where they differ. */
static void settle_acls(struct settle *s, int fd, const struct stat *st)
{
    int i, err = 0;

    for (i = 0; i < ACL_LISTS; i++) {
        int e = 0;

        if (i == ACL_DEFAULT && !S_ISDIR(st->st_mode))
            continue;
        if (acl_differs(&s->acls[i], fd, (enum acl_list)i))
            e = acl_set(&s->acls[i], fd, (enum acl_list)i);
        err = err < 0 ? err : e;
    }
    if (err < 0)
        loss_note(&s->losses, LOSS_ACL, s->name, err);
}

/* Sets extended attributes. A user without privileges can do so only while the mode lets it
 * write; *st then says which mode that is. */
static void settle_xattrs(struct settle *s, int fd, struct stat *st)
{
    int err;

    if (!s->root && !S_ISLNK(st->st_mode) && (st->st_mode & S_IWUSR) == 0 &&
        xattr_differs(fd, s->items, s->len_bytes, s->root) &&
        settle_chmod(fd, (st->st_mode & 07777) | S_IWUSR) == 0)
        st->st_mode |= S_IWUSR;
    err = xattr_set(fd, s->items, s->len_bytes, s->root);
    if (err < 0)
        loss_note(&s->losses, LOSS_XATTR, s->name, err);
}

int settle_set(struct settle *s, int fd, struct stat *st, uint32_t mode)
{
    mode_t wanted;

    if (s != NULL && s->given) {
        settle_ids(s, fd, st);
        if ((s->flags & RECORD_ALL_XATTRS) != 0)
            settle_xattrs(s, fd, st);
        if ((s->flags & RECORD_ALL_ACLS) != 0 && !S_ISLNK(st->st_mode))
            settle_acls(s, fd, st);
        /* An ACL changes the mode. */
        if (fstatat(fd, "", st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
    }
    wanted = settle_mode(s, st, mode);
    if (S_ISLNK(st->st_mode) || ((wanted ^ st->st_mode) & 07777) == 0)
        return 0;
    return settle_chmod(fd, wanted);
}
