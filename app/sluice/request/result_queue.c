/* SPDX-License-Identifier: BSD-3-Clause */
/* Records for the sender. */
#include "sluice/request/result_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void result_queue_init(struct result_queue *a, uint8_t *memory)
{
    memset(a, 0, sizeof *a);
    a->memory = memory;
}

void result_queue_fini(struct result_queue *a)
{
    free(a->queue);
    a->queue = NULL;
    a->head = a->len = a->size = 0;
}

static int result_queue_grow(struct result_queue *a, uint32_t need)
{
    uint8_t *bigger;

    if (a->head > 0) {
        memmove(a->queue, a->queue + a->head, a->len);
        a->head = 0;
    }
    if (a->len + need <= a->size)
        return 0;
    bigger = realloc(a->queue, (a->len + need) * 2);
    if (bigger == NULL)
        return -ENOMEM;
    a->queue = bigger;
    a->size = (a->len + need) * 2;
    return 0;
}

int result_queue_put(struct result_queue *a, const struct record *r, const void *data)
{
    uint32_t need = RECORD_HEADER_BYTES + r->len_bytes;

    if (a->head + a->len + need > a->size && result_queue_grow(a, need) < 0)
        return -ENOMEM;
    record_encode(a->queue + a->head + a->len, r);
    if (r->len_bytes > 0)
        memcpy(a->queue + a->head + a->len + RECORD_HEADER_BYTES, data, r->len_bytes);
    a->len += need;
    return 0;
}

int result_queue_add(struct result_queue *a, uint64_t file, enum record_code code, uint64_t size,
                     const char *message)
{
    struct record r = {
        .type = RECORD_RESULT,
        .len_bytes = (uint32_t)strnlen(message, RECORD_MESSAGE_MAX),
        .mode = code,
        .file = file,
        .size = size,
    };

    return result_queue_put(a, &r, message);
}

/* Bytes of whole records at the queue's head that fit into one request. */
static uint32_t result_queue_fit(const struct result_queue *a)
{
    uint32_t fit = 0;
    struct record r;
    const char *why;

    while (fit < a->len) {
        if (record_decode(a->queue + a->head + fit, a->len - fit, &r, &why) < 0)
            abort(); /* result_queue_put() encoded the records */
        if (fit + RECORD_HEADER_BYTES + r.len_bytes > RECORD_ANSWER_MAX)
            break;
        fit += RECORD_HEADER_BYTES + r.len_bytes;
    }
    return fit;
}

int result_queue_send(struct result_queue *a, struct sluice_conn *c, uint64_t user)
{
    uint32_t i, fit;
    int err;

    for (i = 0; i < RESULT_QUEUE_SLOTS && a->len > 0; i++) {
        uint8_t *slot;

        if (a->busy[i])
            continue;
        slot = a->memory + i * RECORD_ANSWER_MAX;
        fit = result_queue_fit(a);
        memcpy(slot, a->queue + a->head, fit);
        err = sluice_send(c, slot, fit, user + i);
        if (err == -EAGAIN)
            return 0; /* try again when completions have come */
        if (err < 0)
            return err;
        a->busy[i] = true;
        a->head += fit;
        a->len -= fit;
    }
    return 0;
}

void result_queue_sent(struct result_queue *a, uint32_t slot)
{
    a->busy[slot] = false;
}

void result_queue_clear(struct result_queue *a)
{
    a->head = a->len = 0;
}

bool result_queue_empty(const struct result_queue *a)
{
    return a->len == 0;
}

bool result_queue_many(const struct result_queue *a)
{
    return a->len > RESULT_QUEUE_MANY;
}
