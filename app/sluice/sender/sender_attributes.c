/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of what a sync sends. See sender.h. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sluice/sender/sender.h"

uint32_t sender_attributes_room(const struct sender *s)
{
    return s->inspect.chosen == 0 ? 0 : RECORD_HEADER_BYTES + inspect_max_bytes(&s->inspect);
}

bool sender_links(const struct sender *s, const struct tree_entry *e)
{
    return (s->inspect.chosen & ATTRIBUTES_LINKS) != 0 && e->kind == TREE_FILE &&
           S_ISREG(e->st.st_mode) && e->st.st_nlink > 1;
}

/* Opens the entry itself, so that it need not be readable: what was found by walking is no link
 * that has taken its place since, nor behind one. Returns the descriptor or a negative errno. */
static int attributes_open(const struct tree_entry *e)
{
    const int flags = O_PATH | O_CLOEXEC;
    const char *base = e->path;
    int fd, parent_fd = e->walked ? name_dir_parent(e->dir, e->below, &base, NULL) : AT_FDCWD;

    if (e->walked && parent_fd < 0)
        return parent_fd;
    fd = openat(parent_fd, base, flags | (e->walked || e->kind == TREE_LINK ? O_NOFOLLOW : 0));
    return fd < 0 ? -errno : fd;
}

void sender_attributes(struct sender *s, const struct tree_entry *e, int fd, uint64_t link,
                       bool counts)
{
    struct inspect *i = &s->inspect;
    struct record r = {.type = RECORD_ATTR};
    int err = 0, own_fd = -1;

    if (i->chosen == 0)
        return;
    inspect_stat(i, &e->st, link);
    if (inspect_opens(i)) {
        if (fd < 0)
            fd = own_fd = attributes_open(e);
        err = inspect_open(i, fd, &e->st);
    }
    if (own_fd >= 0)
        close(own_fd);
    if (err < 0 && err != -ENOENT && counts)
        loss_note(&i->losses, LOSS_UNREAD, e->path, err);
    r.flags = i->flags;
    r.len_bytes = i->list.len_bytes;
    if (r.flags != 0 || r.len_bytes > 0)
        pack_add(&s->pack, &r, i->list.data);
}
