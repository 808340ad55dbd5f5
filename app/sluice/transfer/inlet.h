/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One sender at the receiver: its connection, the requests that arrived, the file being written,
 * the RESULTs on the way back.
 *
 * Requests fill the slots in turn: of n_slots, those from `head` on are first n_ready that arrived
 * and wait to be read, then the ones posted. Nothing a sender writes is believed: what breaks the
 * protocol ends its connection, what the file system refuses ends the file.
 */
#ifndef SLUICE_COMMAND_INLET_H
#define SLUICE_COMMAND_INLET_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/files/part.h"
#include "sluice/transfer/answers.h"
#include "sluice/transfer/pack.h"
#include "sluice/transfer/summary.h"

#define INLET_SLOTS_MAX 64

enum inlet_state {
    INLET_IDLE,    /* no connection */
    INLET_WAITING, /* accept submitted */
    INLET_OPEN,
    INLET_OVER, /* to be closed: all is said */
};

struct inlet {
    enum inlet_state state;
    struct sluice *session;
    struct sluice_conn *conn;
    struct sink *sink;
    uint32_t channel;

    uint8_t *memory; /* slots, then answers */
    uint32_t n_slots, head, n_ready, posted;
    uint64_t len[INLET_SLOTS_MAX]; /* bytes that arrived */
    uint64_t at_bytes;             /* read of slot `head` */

    struct part part;
    struct answers answers;
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
uint64_t inlet_bytes(uint32_t n_slots);
int inlet_init(struct inlet *in, struct sluice *session, struct sink *sink, uint32_t n_slots,
               uint8_t *memory);
void inlet_fini(struct inlet *in);

/* Submits an accept with its receives. 0 or a negative errno. */
int inlet_accept(struct inlet *in, uint16_t port, uint32_t channel);
void inlet_complete(struct inlet *in, const struct sluice_completion *c);
/* Reads what arrived, about max_bytes at most. True: more is left. */
bool inlet_work(struct inlet *in, uint64_t max_bytes);
/* Gives the connection up or back; a file that is not whole is removed, and that is said. */
void inlet_close(struct inlet *in);

/* One record (inlet_record.c): 0, or -EPROTO with *why. */
int inlet_record(struct inlet *in, const struct record *r, const uint8_t *data, const char **why);
void inlet_failed(struct inlet *in, int code);

#endif
