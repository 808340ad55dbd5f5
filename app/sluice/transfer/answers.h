/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RESULT records on their way to the sender: queued here, sent in requests of up to
 * RECORD_ANSWER_MAX bytes.
 *
 * Invariant: every record queued is sent once, in order.
 */
#ifndef SLUICE_COMMAND_ANSWERS_H
#define SLUICE_COMMAND_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/sluice.h"
#include "sluice/files/record.h"

#define ANSWERS_SLOTS 4
#define ANSWERS_BYTES (ANSWERS_SLOTS * RECORD_ANSWER_MAX) /* memory of sluice_alloc() */
#define ANSWERS_MANY  (1u << 20) /* queued bytes from which the sender has to wait */

struct answers {
    uint8_t *memory;
    bool busy[ANSWERS_SLOTS];
    uint8_t *queue;
    uint32_t head, len, size; /* bytes: what is at head waits */
};

/* memory: ANSWERS_BYTES, page-aligned. */
void answers_init(struct answers *a, uint8_t *memory);
void answers_fini(struct answers *a);
/* 0 or -ENOMEM. */
int answers_add(struct answers *a, uint64_t file, enum record_code code, uint64_t size,
                const char *message);
/* Submits what can be, with `user` = user + slot. 0 or a negative errno of sluice_send(). */
int answers_send(struct answers *a, struct sluice_conn *c, uint64_t user);
/* The request of this slot is out. */
void answers_sent(struct answers *a, uint32_t slot);
/* Nothing waits to be submitted. */
bool answers_empty(const struct answers *a);
bool answers_many(const struct answers *a);

#endif
