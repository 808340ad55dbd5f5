/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of large files, read and hashed ahead of what is sent.
 *
 * Each piece is read into the request that carries it, whose data are page-aligned
 * (request/pack.h). Requests are sent in the order of their pieces.
 *
 * Invariant: pieces are read of one run of data of s->source, from its place to ahead.to_bytes. The
 * source stays where it is until a piece is sent.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sluice/sender/sender.h"

bool sender_ahead_takes(const struct sender *s, uint64_t len_bytes)
{
    /* A piece alone would be waited for at once. */
    return s->ahead.storage != NULL && !s->ahead.failed && !s->source.stream &&
           len_bytes > RECORD_DATA_MAX;
}

/* Says once that a file is not read directly. */
static void ahead_refused(struct sender *s)
{
    if (!s->ahead.refused && !s->options->common.quiet)
        say_note("%s: its file system has no direct I/O: read through the page cache", s->current);
    s->ahead.refused = true;
}

/* A descriptor for direct I/O; -1: none. */
static int ahead_direct(struct sender *s)
{
    int fd = s->options->direct ? storage_direct(s->source.fd, false) : -1;

    if (fd == -EINVAL)
        ahead_refused(s);
    return fd < 0 ? -1 : fd;
}

bool sender_ahead_begin(struct sender *s, uint64_t len_bytes)
{
    struct sender_ahead *a = &s->ahead;

    sender_flush(s);
    if (s->slot >= 0 && s->pack.used_bytes > 0)
        return false;
    if (s->slot >= 0)
        buffers_give(&s->buffers, (uint32_t)s->slot); /* nothing is in it */
    s->slot = -1;
    a->on = true;
    a->first = a->n = 0;
    a->at_bytes = s->source.at_bytes;
    a->to_bytes = a->at_bytes + len_bytes;
    storage_begin(&a->file, s->source.fd, ahead_direct(s), s->source.digest);
    return true;
}

/* Begins to read another piece. False: there is no buffer for it, or no thread. */
static bool ahead_put(struct sender *s)
{
    struct sender_ahead *a = &s->ahead;
    uint64_t len = a->to_bytes - a->at_bytes;
    uint32_t at = (a->first + a->n) % SENDER_AHEAD;
    struct storage_piece *p = &a->pieces[at];
    int slot = buffers_take(&s->buffers);

    /* As elsewhere, memory is made when it is needed; what is read ahead waits for that which is
     * there. */
    if (slot < 0 && a->n < 2 && buffers_grow(&s->buffers) == 0)
        slot = buffers_take(&s->buffers);
    if (slot < 0)
        return false;
    len = len < RECORD_DATA_MAX ? len : RECORD_DATA_MAX;
    *p = (struct storage_piece){.file = &a->file,
                                .owner = s,
                                .data = s->buffers.at[slot] + PACK_PAGE,
                                .offset = a->at_bytes,
                                .len_bytes = (uint32_t)len};
    if (storage_put(a->storage, p) < 0) {
        buffers_give(&s->buffers, (uint32_t)slot);
        a->failed = true;
        return false;
    }
    a->slots[at] = slot;
    a->n++;
    a->at_bytes += len;
    return true;
}

/* Sends the oldest piece, which was read. */
static void ahead_send(struct sender *s)
{
    struct sender_ahead *a = &s->ahead;
    const struct storage_piece *p = &a->pieces[a->first];
    struct record r = {
        .type = RECORD_DATA, .file = s->file, .offset = p->offset, .len_bytes = p->len_bytes};

    s->slot = a->slots[a->first];
    s->pack.memory = s->buffers.at[s->slot];
    s->pack.used_bytes = 0;
    pack_add(&s->pack, &r, NULL);
    s->source.at_bytes += p->len_bytes;
    a->first = (a->first + 1) % SENDER_AHEAD;
    a->n--;
    sender_flush(s);
}

void sender_ahead_end(struct sender *s)
{
    struct sender_ahead *a = &s->ahead;

    if (!a->on)
        return;
    storage_cancel(a->storage, &a->file);
    if (storage_refused(&a->file))
        ahead_refused(s);
    if (a->file.direct_fd >= 0)
        close(a->file.direct_fd);
    for (; a->n > 0; a->n--) {
        buffers_give(&s->buffers, (uint32_t)a->slots[a->first]);
        a->first = (a->first + 1) % SENDER_AHEAD;
    }
    a->on = false;
}

enum sender_step sender_ahead(struct sender *s)
{
    struct sender_ahead *a = &s->ahead;
    bool room = true;

    if (s->refused || s->giving_up) {
        sender_ahead_end(s);
        return SENDER_WORKED;
    }
    while (storage_take(a->storage) != NULL)
        ;
    sender_flush(s); /* the piece before, if no connection took it then */
    if (s->slot >= 0)
        return SENDER_FULL;
    while (room && !a->failed && a->n < SENDER_AHEAD && a->at_bytes < a->to_bytes)
        room = ahead_put(s);
    if (a->n == 0 && a->at_bytes < a->to_bytes && !a->failed)
        return SENDER_FULL;
    if (a->n > 0 && a->pieces[a->first].busy)
        return SENDER_READS;
    if (a->n > 0)
        a->err = a->pieces[a->first].err;
    if (a->n == 0 || a->err < 0)
        sender_ahead_end(s);
    else
        ahead_send(s);
    return SENDER_WORKED;
}
