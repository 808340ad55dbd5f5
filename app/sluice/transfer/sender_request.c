/* SPDX-License-Identifier: BSD-3-Clause */
/* The request that is being filled. See sender.h. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sluice/say.h"
#include "sluice/transfer/sender.h"

/* libsluice refused a submission. */
void sender_broken(struct sender *s, int err)
{
    if (s->status != 0)
        return;
    s->status = err;
    sender_failed(s, say_error(say_code(err, true), "%s", sluice_error(s->loop.session)));
}

void sender_flush(struct sender *s)
{
    int err;

    if (s->slot < 0 || s->pack.used_bytes == 0 || s->status != 0)
        return;
    err = sluice_send(s->conn, s->pack.memory + PACK_FIRST, s->pack.used_bytes, (uint64_t)s->slot);
    if (err < 0) {
        sender_broken(s, err);
        return;
    }
    s->busy[s->slot] = true;
    s->in_flight++;
    s->slot = -1;
}

bool sender_room(struct sender *s, uint32_t room)
{
    uint32_t i;

    if (s->slot >= 0 && pack_room(&s->pack) < room)
        sender_flush(s);
    if (s->slot >= 0)
        return pack_room(&s->pack) >= room; /* false: the connection broke */
    for (i = 0; i < s->n_slots; i++) {
        if (!s->busy[i]) {
            s->slot = (int)i;
            s->pack.memory = s->memory + (uint64_t)i * PACK_BYTES;
            s->pack.used_bytes = 0;
            return true;
        }
    }
    return false;
}

enum sender_step sender_hole(struct sender *s, uint64_t len)
{
    struct record r = {.type = RECORD_HOLE, .file = s->file, .offset = s->source.at_bytes};

    r.size = len < RECORD_HOLE_MAX ? len : RECORD_HOLE_MAX;
    pack_add(&s->pack, &r, NULL);
    source_skip(&s->source, r.size);
    return SENDER_WORKED;
}

/* ---- the attributes of what a sync sends ----------------------------------------------------- */

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
