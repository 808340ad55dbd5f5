/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends what the receiver's file does not have (delta/rolling.h).
 *
 * States of the file that is being sent, at each place:
 * - The next block of the receiver's file, behind the one that was found last, is the same: it is
 *   found. At the beginning, that is the block at the same place.
 * - It differs, but the one behind it is the same at its place: the block was changed in place. It
 * is sent, and nothing is looked for.
 * - Otherwise the block that begins here may be anywhere in the receiver's file. Once the whole
 * list has come, the sender looks for it at this byte, at the next one, and so on; what it passes
 * over is sent.
 */
#include <errno.h>
#include <stdlib.h>

#include "sluice/delta/rolling.h"
#include "sluice/sender/sender.h"

#define AHEAD_BYTES   (1u << 20)   /* read beyond what is needed now */
#define LITERAL_BYTES (256u << 10) /* looked at, and sent, at a time of what is not found */
/* For what is sent at a time, with holes of at least a page in it. */
#define ROOM_BYTES    (RECORD_BLOCK_MAX + (RECORD_BLOCK_MAX / 4096 + 2) * RECORD_HEADER_BYTES)
#define FLUSH_BYTES   (8u << 20) /* copied by the receiver while we look further */
/* Hashing for nothing is limited: to so many times the bytes that were looked at, and so many
 * blocks. A file that is made for that could otherwise have each of its bytes cost a block. By
 * chance, a weak sum leads astray once in 2^40 / n bytes, for n blocks of at most 2^20. */
#define ASTRAY_TIMES  8
#define ASTRAY_BLOCKS 64

void sender_delta_begin(struct sender *s, struct sender_ask *a, uint64_t number)
{
    struct sender_delta *d = &s->delta;

    block_list_free(&d->list);
    d->list = a->list;
    d->ask = a->listed && !a->list.whole ? number : 0;
    d->on = a->listed;
    a->list = (struct block_list){0};
    d->next = 0;
    d->known = true;
    d->copy.size = d->window_len = d->looked_bytes = d->astray_bytes = 0;
}

/* Gives up looking: the rest of the file is sent. */
static void delta_end(struct sender *s)
{
    struct sender_delta *d = &s->delta;

    d->on = false;
    d->ask = 0; /* more of the list is not wanted */
    block_list_free(&d->list);
}

void sender_delta_fini(struct sender *s)
{
    delta_end(s);
    free(s->delta.window);
    s->delta.window = NULL;
}

bool sender_delta_hears(struct sender *s, const struct record *r, const uint8_t *data,
                        const char **why)
{
    struct sender_delta *d = &s->delta;

    if (d->ask != r->file)
        return true; /* the file was sent without it */
    *why = block_list_add(&d->list, r, data);
    if (d->list.whole)
        d->ask = 0;
    return *why == NULL;
}

void sender_delta_flush(struct sender *s)
{
    if (s->delta.copy.size > 0)
        pack_add(&s->pack, &s->delta.copy, NULL);
    s->delta.copy.size = 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Has the window hold the file from its place on, up to `end`, as far as one step looks: two blocks
 * more than what is sent. 0 or a negative errno. */
static int window_fill(struct sender *s, uint64_t end)
{
    struct sender_delta *d = &s->delta;
    const uint64_t room = LITERAL_BYTES + 2ull * RECORD_BLOCK_MAX + AHEAD_BYTES;
    uint64_t at = s->source.at_bytes, need = LITERAL_BYTES + 2ull * d->list.block;
    int err;

    need = end - at < need ? end - at : need;
    if (at >= d->window_at && at - d->window_at <= d->window_len &&
        d->window_len - (at - d->window_at) >= need)
        return 0;
    if (d->window == NULL)
        d->window = malloc(room);
    if (d->window == NULL)
        return -ENOMEM;
    need = end - at < need + AHEAD_BYTES ? end - at : need + AHEAD_BYTES;
    err = source_peek(&s->source, d->window, need);
    d->window_at = at;
    d->window_len = err == 0 ? need : 0;
    return err;
}

static const uint8_t *window_data(const struct sender *s)
{
    return s->delta.window + (s->source.at_bytes - s->delta.window_at);
}

/* ---- looking ------------------------------------------------------------------------------- */

/* Whether the receiver's block at `from` has the hash of data. */
static bool delta_is(const struct sender *s, uint64_t from, const uint8_t *data)
{
    const struct block_list *l = &s->delta.list;
    const struct block *b = block_list_at(l, from);

    return b != NULL && b->strong == rolling_strong(data, l->block, l->seed);
}

/* Notes that the block at this place is the receiver's at `from`. */
static void delta_found(struct sender *s, uint64_t from)
{
    struct sender_delta *d = &s->delta;
    uint32_t block = d->list.block;
    struct record *c = &d->copy;

    if (c->size == 0 || c->from + c->size != from || c->size + block > RECORD_COPY_MAX) {
        sender_delta_flush(s);
        *c = (struct record){
            .type = RECORD_COPY, .file = s->file, .offset = s->source.at_bytes, .from = from};
    }
    c->size += block;
    source_keep(&s->source, window_data(s), block);
    s->resume.kept_bytes += block;
    d->next = from + block;
    d->known = true;
    if (c->size >= FLUSH_BYTES && s->in_flight == 0) {
        sender_delta_flush(s);
        sender_flush(s);
    }
}

/* Sends the next len bytes of the window, for which there is room; holes as such. 0 or a negative
 * errno. */
static int delta_send(struct sender *s, uint64_t len)
{
    while (len > 0) {
        struct record r = {.type = RECORD_DATA, .file = s->file, .offset = s->source.at_bytes};
        uint64_t piece;
        bool hole;
        int err = source_next(&s->source, &piece, &hole);

        if (err < 0)
            return err;
        piece = piece < len ? piece : len;
        len -= piece;
        sender_delta_flush(s);
        if (hole) {
            sender_hole(s, piece);
            continue;
        }
        r.len_bytes = (uint32_t)piece;
        pack_add(&s->pack, &r, window_data(s));
        source_take(&s->source, window_data(s), piece);
    }
    return 0;
}

/* Looks for a block at this place and the next ones, with `have` bytes in the window. Returns how
 * many bytes were passed over; *found: where the receiver has the block that begins behind them,
 * UINT64_MAX: nowhere. */
static uint32_t delta_look(struct sender *s, uint64_t have, uint64_t *found)
{
    struct sender_delta *d = &s->delta;
    const struct block_list *l = &d->list;
    const uint8_t *data = window_data(s);
    uint64_t last = have - l->block, at;
    struct rolling sums;

    *found = UINT64_MAX;
    last = last < LITERAL_BYTES - 1 ? last : LITERAL_BYTES - 1;
    rolling_begin(&sums, data, l->block);
    for (at = 0;; at++) {
        uint64_t weak = rolling_weak(&sums);

        if (block_list_may(l, weak)) {
            bool hashed;
            const struct block *b = block_list_find(l, weak, data + at, &hashed);

            if (b != NULL) {
                *found = b->from;
                break;
            }
            d->astray_bytes += hashed ? l->block : 0;
        }
        if (at == last) {
            at++;
            break;
        }
        rolling_move(&sums, l->block, data[at], data[at + l->block]);
    }
    d->looked_bytes += at;
    return (uint32_t)at;
}

/* Waits for more of the list. The receiver can work meanwhile. */
static enum sender_step delta_wait(struct sender *s)
{
    sender_delta_flush(s);
    sender_flush(s);
    return SENDER_WAITS;
}

/* A hole of at least a block stays one, in whole blocks, so that what follows is expected at its
 * place. */
static enum sender_step delta_hole(struct sender *s, uint64_t len)
{
    uint32_t block = s->delta.list.block;

    len = len < RECORD_HOLE_MAX ? len : RECORD_HOLE_MAX;
    len -= len % block;
    s->delta.next += len;
    sender_delta_flush(s);
    return sender_hole(s, len);
}

/* Looks for what begins here, with len bytes in the window, and sends what was passed over. 0 or a
 * negative errno. */
static int delta_step(struct sender *s, uint64_t len)
{
    struct sender_delta *d = &s->delta;
    uint32_t block = d->list.block;
    uint64_t found, passed;
    int err;

    passed = delta_look(s, len < LITERAL_BYTES + block ? len : LITERAL_BYTES + block, &found);
    err = delta_send(s, passed);
    d->known = false;
    if (err == 0 && found != UINT64_MAX)
        delta_found(s, found);
    else if (d->astray_bytes > ASTRAY_TIMES * d->looked_bytes + ASTRAY_BLOCKS * (uint64_t)block)
        delta_end(s);
    return err;
}

enum sender_step sender_delta(struct sender *s, uint64_t max_bytes, uint64_t hole_bytes, int *err)
{
    struct sender_delta *d = &s->delta;
    uint32_t block = d->list.block;
    uint64_t len = s->source.size - s->source.at_bytes;

    *err = 0;
    len = len < max_bytes ? len : max_bytes;
    if (d->list.n == 0 && d->ask != 0)
        return delta_wait(s);
    if (d->list.n == 0) {
        delta_end(s);
        return SENDER_WORKED;
    }
    if (hole_bytes >= block && len >= block)
        return delta_hole(s, hole_bytes < len ? hole_bytes : len);
    if (!sender_room(s, ROOM_BYTES))
        return SENDER_FULL;
    *err = window_fill(s, s->source.at_bytes + len);
    if (*err == 0 && len < block) {
        *err = delta_send(s, len);
    } else if (*err == 0 && d->known && delta_is(s, d->next, window_data(s))) {
        delta_found(s, d->next);
    } else if (*err == 0 && d->known && len >= 2 * (uint64_t)block &&
               delta_is(s, d->next + block, window_data(s) + block)) {
        *err = delta_send(s, block);
        d->next += block;
    } else if (*err == 0) {
        if (d->ask != 0)
            return delta_wait(s);
        *err = delta_step(s, len);
    }
    return SENDER_WORKED;
}
