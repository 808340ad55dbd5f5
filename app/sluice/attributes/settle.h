/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives received files the owner, group, mode, ACLs and extended attributes that their sender has
 * said (ATTR), as far as this process may, and counts what it may not.
 *
 * Invariant: set-user-ID, set-group-ID and sticky are given only to what has the owner and the
 * group of the sender, and only if both are to be kept; nothing else gets one that it had not.
 * Files are reached by their open descriptors, never by a name.
 */
#ifndef SLUICE_COMMAND_SETTLE_H
#define SLUICE_COMMAND_SETTLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sluice/attributes/acl.h"
#include "sluice/attributes/attributes.h"
#include "sluice/attributes/ids.h"
#include "sluice/attributes/loss.h"

/* What differs between what is there and what the sender has. */
enum settle_difference {
    SETTLE_OWNER = 1,
    SETTLE_GROUP = 2,
    SETTLE_MODE = 4,
    SETTLE_ACL = 8,
    SETTLE_XATTR = 16,
};

struct settle {
    uint32_t chosen; /* enum attribute_choice; 0: only modes and times are kept */
    bool root;       /* this is root, which may give files away */
    struct ids users, groups;
    struct losses losses;
    const char *name; /* of the file whose record is carried out, for losses */

    /* The newest ATTR: a copy of its items, and what they say here. */
    bool given; /* it belongs to the record that is carried out */
    uint8_t *items;
    uint32_t len_bytes, size;
    uint16_t flags; /* enum record_flag */
    bool owner, group;
    uid_t uid;
    gid_t gid;
    uint64_t link; /* number of the file with several names; 0: it has one */
    struct acl acls[ACL_LISTS];

    uint32_t differs; /* enum settle_difference, as settle_look() has found it */
};

void settle_init(struct settle *s, uint32_t chosen);
void settle_fini(struct settle *s);

/* Takes an ATTR. NULL, or what is wrong with it, or SETTLE_NO_MEMORY. */
#define SETTLE_NO_MEMORY "no memory"
const char *settle_take(struct settle *s, const uint8_t *items, uint32_t len_bytes, uint16_t flags);

/* Notes what differs from *st, which is `base` in dir_fd; st NULL: nothing is there. mode: the
 * sender's. */
void settle_look(struct settle *s, int dir_fd, const char *base, const struct stat *st,
                 uint32_t mode);
/* Sets all but times of the open file, which O_PATH may have opened, and which is *st. mode: the
 * sender's. Returns 0, or a negative errno if the mode cannot be set; other losses are counted. *st
 * then has the new owner and group. */
int settle_set(struct settle *s, int fd, struct stat *st, uint32_t mode);
/* A dry run: counts what could not be kept of what is, or would be, there. */
void settle_foresee(struct settle *s, const struct stat *st);

#endif
