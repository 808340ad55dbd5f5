/* SPDX-License-Identifier: BSD-3-Clause */
/* The request that is being filled. See sender.h. */
#include "sluice/sender/sender.h"

void sender_flush(struct sender *s)
{
    struct sender_stream *t;
    uint8_t *request = s->pack.memory + PACK_FIRST;
    int err;

    if (s->slot < 0 || s->pack.used_bytes == 0 || s->status != 0)
        return;
    t = sender_streams_choose(s);
    if (t == NULL)
        return;
    if (s->streams.wanted > 1)
        record_number(request, ++s->streams.requests);
    err = sluice_send(t->conn, request, s->pack.used_bytes, (uint64_t)s->slot);
    if (err < 0) {
        sender_broken(s, err);
        return;
    }
    t->in_flight++;
    s->in_flight++;
    s->slot = -1;
}

bool sender_room(struct sender *s, uint32_t room)
{
    if (s->slot >= 0 && pack_room(&s->pack) < room)
        sender_flush(s);
    if (s->slot >= 0)
        return pack_room(&s->pack) >= room; /* false: it could not be submitted */
    s->slot = buffers_take(&s->buffers);
    /* Without memory for more, those that there are have to do. */
    if (s->slot < 0 && buffers_grow(&s->buffers) == 0)
        s->slot = buffers_take(&s->buffers);
    if (s->slot < 0)
        return false;
    s->pack.memory = s->buffers.at[s->slot];
    s->pack.used_bytes = 0;
    return true;
}

int sender_reads(const struct sender *s, struct source *f, const struct tree_entry *e)
{
    if (e->walked)
        return source_open_below(f, e->dir, e->below);
    return s->options->sync != NULL ? source_open_itself(f, e->path) : source_open(f, e->path);
}

enum sender_step sender_hole(struct sender *s, uint64_t len)
{
    struct record r = {.type = RECORD_HOLE, .file = s->file, .offset = s->source.at_bytes};

    r.size = len < RECORD_HOLE_MAX ? len : RECORD_HOLE_MAX;
    pack_add(&s->pack, &r, NULL);
    source_skip(&s->source, r.size);
    return SENDER_WORKED;
}
