/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops (one for each submission under way), and completions that are ready for sluice_poll(). */
#include <errno.h>
#include <stdlib.h>

#include "client/state.h"

/* Doubles the table of ops, when no op is free. */
static int op_grow(struct sluice *s)
{
    uint32_t size = s->ops_size == 0 ? 256 : s->ops_size * 2, i;
    struct client_op *ops = realloc(s->ops, size * sizeof *ops);

    if (ops == NULL)
        return -ENOMEM;
    s->ops = ops;
    for (i = s->ops_size; i < size; i++) {
        ops[i].used = false;
        ops[i].next = i + 1 < size ? i + 1 : CLIENT_NONE;
    }
    s->ops_free = s->ops_size;
    s->ops_size = size;
    return 0;
}

static int ready_grow(struct sluice *s)
{
    uint32_t size = s->ready_size == 0 ? 256 : s->ready_size * 2, i;
    struct sluice_completion *ready = malloc(size * sizeof *ready);

    if (ready == NULL)
        return -ENOMEM;
    for (i = 0; i < s->ready_count && s->ready_size > 0; i++)
        ready[i] = s->ready[(s->ready_first + i) % s->ready_size];
    free(s->ready);
    s->ready = ready;
    s->ready_size = size;
    s->ready_first = 0;
    return 0;
}

uint32_t client_op_take(struct sluice *s, struct sluice_conn *c, enum protocol_op kind,
                        uint64_t user)
{
    struct client_op *op;
    uint32_t i;

    /* Every op under way must be able to become ready without an allocation. */
    if (s->ready_count + s->ops_used >= s->ready_size && ready_grow(s) < 0)
        return CLIENT_NONE;
    if (s->ops_free == CLIENT_NONE && op_grow(s) < 0)
        return CLIENT_NONE;
    i = s->ops_free;
    op = &s->ops[i];
    s->ops_free = op->next;
    s->ops_used++;
    *op = (struct client_op){.conn = c,
                             .user = user,
                             .order = s->order++,
                             .regions = {CLIENT_NONE, CLIENT_NONE},
                             .kind = (uint8_t)kind,
                             .used = true};
    return i;
}

void client_op_give(struct sluice *s, uint32_t op)
{
    s->ops[op].used = false;
    s->ops[op].next = s->ops_free;
    s->ops_free = op;
    s->ops_used--;
}

void client_ready_put(struct sluice *s, const struct sluice_completion *done)
{
    s->ready[(s->ready_first + s->ready_count) % s->ready_size] = *done;
    s->ready_count++;
}

uint32_t client_ready_take(struct sluice *s, struct sluice_completion *out, size_t size_bytes,
                           uint32_t max)
{
    uint8_t *at = (uint8_t *)out;
    uint32_t n;

    for (n = 0; n < max && s->ready_count > 0; n++, at += size_bytes) {
        client_sized_copy(at, size_bytes, &s->ready[s->ready_first], sizeof *s->ready);
        s->ready_first = (s->ready_first + 1) % s->ready_size;
        s->ready_count--;
    }
    return n;
}

void client_ready_drop(struct sluice *s, const struct sluice_conn *c)
{
    uint32_t i, kept = 0;

    for (i = 0; i < s->ready_count; i++) {
        struct sluice_completion d = s->ready[(s->ready_first + i) % s->ready_size];

        if (d.conn != c)
            s->ready[(s->ready_first + kept++) % s->ready_size] = d;
    }
    s->ready_count = kept;
}

static int op_earlier(const void *a, const void *b)
{
    const struct client_op *x = a, *y = b;

    return x->order < y->order ? -1 : x->order > y->order;
}

static enum sluice_op op_public(uint8_t kind)
{
    return (enum sluice_op)kind; /* the same numbers up to SHUTDOWN; applications see no others */
}

static void op_abandon_one(struct sluice *s, struct client_op *op)
{
    struct sluice_conn *c = op->conn;
    struct sluice_completion done = {
        .user = op->user, .conn = c, .status = -ENOTCONN, .op = op_public(op->kind)};

    client_region_release(s, op->regions[0]);
    client_region_release(s, op->regions[1]);
    if (op->kind == PROTOCOL_CLOSE)
        c->closed = true;
    if (op->kind == PROTOCOL_SEND)
        c->sends--;
    if (op->kind == PROTOCOL_RECV)
        c->recvs--;
    if (op->sync) {
        c->sync_sends--;
        c->tails[op->tail].busy = false;
        if (op->wait != NULL)
            *op->wait = (struct client_wait){.free = true, .status = -ENOTCONN};
        else if (c->sync_error == 0)
            c->sync_error = -ENOTCONN;
    } else if (op->kind <= PROTOCOL_SHUTDOWN && !c->closing) {
        client_ready_put(s, &done);
    }
    op->used = false;
}

void client_op_abandon(struct sluice *s)
{
    uint32_t i;

    if (s->ops_used == 0)
        return;
    /* No completion will name an op by its index any more, so the ops may be sorted. */
    qsort(s->ops, s->ops_size, sizeof *s->ops, op_earlier);
    for (i = 0; i < s->ops_size; i++) {
        if (s->ops[i].used)
            op_abandon_one(s, &s->ops[i]);
        s->ops[i].next = i + 1 < s->ops_size ? i + 1 : CLIENT_NONE;
    }
    s->ops_free = 0;
    s->ops_used = 0;
}

static_assert((int)SLUICE_OP_CONNECT == (int)PROTOCOL_CONNECT &&
                  (int)SLUICE_OP_ACCEPT == (int)PROTOCOL_ACCEPT &&
                  (int)SLUICE_OP_SEND == (int)PROTOCOL_SEND &&
                  (int)SLUICE_OP_RECV == (int)PROTOCOL_RECV &&
                  (int)SLUICE_OP_SHUTDOWN == (int)PROTOCOL_SHUTDOWN,
              "the two lists have the same numbers");
