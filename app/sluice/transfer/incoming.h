/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One sender at the receiver: its connection, the requests that arrived, the file being written,
 * the RESULTs on the way back.
 *
 * Requests fill the slots in turn: of n_slots, those from `head` on are first n_ready that arrived
 * and wait to be read, then the ones posted. Nothing a sender writes is believed: what breaks the
 * protocol ends its connection, what the file system refuses ends the file.
 */
#ifndef SLUICE_COMMAND_INCOMING_H
#define SLUICE_COMMAND_INCOMING_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/part_file.h"
#include "sluice/transfer/pack.h"
#include "sluice/transfer/result_queue.h"
#include "sluice/transfer/summary.h"

#define INCOMING_SLOTS_MAX 64

enum incoming_state {
    INCOMING_IDLE,    /* no connection */
    INCOMING_WAITING, /* accept submitted */
    INCOMING_OPEN,
    INCOMING_OVER, /* to be closed: all is said */
};

struct incoming {
    enum incoming_state state;
    struct sluice *session;
    struct sluice_conn *conn;
    struct sink *sink;
    uint32_t channel;

    uint8_t *memory; /* slots, then answers */
    uint32_t n_slots, head, n_ready, posted;
    uint64_t len[INCOMING_SLOTS_MAX]; /* bytes that arrived */
    uint64_t at_bytes;                /* read of slot `head` */

    struct part_file part;
    struct result_queue results;
    bool in_file, skipping; /* between OFFER and its end; nobody wants what comes */
    uint64_t file;          /* number of the newest */
    char name[RECORD_NAME_MAX + 1];

    bool proved; /* something of it was received: its address is its own */
    bool served; /* it is one of the senders: the receiver's */
    bool end_all, shutting, shut;
    bool no_more, peer_ended; /* a receive found no more; and all of them have completed */
    int status;               /* negative errno that broke the connection */
    int code;                 /* exit code for this sender */
    struct summary summary;
};

/* Memory needed from sluice_alloc(). */
uint64_t incoming_bytes(uint32_t n_slots);
int incoming_init(struct incoming *in, struct sluice *session, struct sink *sink, uint32_t n_slots,
                  uint8_t *memory);
void incoming_fini(struct incoming *in);

/* Submits an accept with its receives. 0 or a negative errno. */
int incoming_accept(struct incoming *in, uint16_t port, uint32_t channel);
void incoming_complete(struct incoming *in, const struct sluice_completion *c);
/* Reads what arrived, about max_bytes at most. True: more is left. */
bool incoming_work(struct incoming *in, uint64_t max_bytes);
/* Gives the connection up or back; a file that is not whole is removed, and that is said. */
void incoming_close(struct incoming *in);

/* One record (incoming_record.c): 0, or -EPROTO with *why. */
int incoming_record(struct incoming *in, const struct record *r, const uint8_t *data,
                    const char **why);
void incoming_failed(struct incoming *in, int code);

#endif
