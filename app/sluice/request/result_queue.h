/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records for the sender (RESULT, ANSWER, HAVE): queued here, then sent in requests of up to
 * RECORD_ANSWER_MAX bytes.
 *
 * Invariant: every record queued is sent once, in order.
 */
#ifndef SLUICE_COMMAND_RESULT_QUEUE_H
#define SLUICE_COMMAND_RESULT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/files/record.h"

#define RESULT_QUEUE_SLOTS 4
#define RESULT_QUEUE_BYTES (RESULT_QUEUE_SLOTS * RECORD_ANSWER_MAX) /* memory of sluice_alloc() */
#define RESULT_QUEUE_MANY  (1u << 20) /* the sender waits while more bytes are queued */

struct result_queue {
    uint8_t *memory;
    bool busy[RESULT_QUEUE_SLOTS];
    uint8_t *queue;
    uint32_t head, len, size; /* bytes: `size` are allocated; [head, head + len) are queued */
};

/* memory: RESULT_QUEUE_BYTES, page-aligned. */
void result_queue_init(struct result_queue *a, uint8_t *memory);
void result_queue_fini(struct result_queue *a);
/* Queues a record with r->len_bytes of data. 0 or -ENOMEM. */
int result_queue_put(struct result_queue *a, const struct record *r, const void *data);
/* Queues a RESULT. 0 or -ENOMEM. */
int result_queue_add(struct result_queue *a, uint64_t file, enum record_code code, uint64_t size,
                     const char *message);
/* Submits as many records as free slots take; the `user` of a submission is user + slot. 0 or a
 * negative errno of sluice_send(). */
int result_queue_send(struct result_queue *a, struct sluice_conn *c, uint64_t user);
/* The send of this slot has completed. */
void result_queue_sent(struct result_queue *a, uint32_t slot);
/* Forgets the records that wait: nobody will get them. */
void result_queue_clear(struct result_queue *a);
/* True if no record waits to be submitted. */
bool result_queue_empty(const struct result_queue *a);
bool result_queue_many(const struct result_queue *a);

#endif
