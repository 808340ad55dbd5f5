/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of the pipes between the two ends of `sluice cp`: reads and writes whole messages.
 *
 * Invariant: bytes [used, len) of `in` have come and were not taken yet. A message lies in `in`
 * until the next call of talk_next() or talk_read().
 */
#ifndef SLUICE_COMMAND_TALK_H
#define SLUICE_COMMAND_TALK_H

#include <stdbool.h>

#include "sluice/cp/message.h"

struct talk {
    int in_fd, out_fd; /* -1: closed */
    uint8_t in[2 * MESSAGE_BYTES_MAX];
    size_t used, len;
    bool end;        /* no more bytes will come */
    uint8_t version; /* of the newest message */
    const char *why; /* what was wrong with it */
};

void talk_init(struct talk *t, int in_fd, int out_fd);
void talk_close(struct talk *t);

/* Reads what is there; waits if nothing is. Sets t->end at the end or after an error. To be called
 * when talk_next() has nothing more. */
void talk_read(struct talk *t);
/* 1: *m is the next message; 0: none is whole; negative errno: as message_decode(). */
int talk_next(struct talk *t, struct message *m);
/* Writes a message with len bytes of data, unless a signal asks to stop. 0 or a negative errno. */
int talk_write(struct talk *t, enum message_type type, const void *data, size_t len);

#endif
