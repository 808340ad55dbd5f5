/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's own state, private to lib/client. Only one thread at a time uses a session, so
 * nothing here is atomic. Memory shared with the daemon is described in protocol.h.
 *
 * Invariants:
 * - Every submission has one op, named by its index (`user` in protocol.h), until its last
 *   completion is taken.
 * - `owed` of a channel counts the completions of its submissions that are not taken yet, plus one
 *   for the CLOSE of each handle. `owed` stays <= cq_entries, so the daemon never has to hold a
 *   submission back.
 * - The ready queue has room for every op.
 */
#ifndef SLUICE_CLIENT_STATE_H
#define SLUICE_CLIENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/protocol.h"
#include "client/sluice.h"

#define CLIENT_TAILS         4           /* copied tails in flight per connection (sync.c) */
#define CLIENT_TAIL_MIN      (64u << 10) /* bytes; also the size while rate or RTT is unknown */
#define CLIENT_TAIL_MAX      (4u << 20)
#define CLIENT_ERROR_MAX     320
#define CLIENT_HUGE_BYTES    (2ull << 20)
#define CLIENT_REPLY_WAIT_MS 30000
#define CLIENT_NONE          UINT32_MAX

struct client_region {
    uint8_t *base;
    uint64_t len_bytes; /* as mapped */
    uint32_t id;        /* given by the daemon */
    uint32_t uses;      /* outstanding submissions that name the region */
};

/* What a synchronous send waits for; lives on the caller's stack. */
struct client_wait {
    bool free; /* the caller's data may be reused */
    int status;
};

struct client_op {
    struct sluice_conn *conn;
    uint64_t user;
    uint64_t order;           /* ascending in the order of submission */
    struct client_wait *wait; /* of a synchronous send that still waits, else NULL */
    uint32_t next;            /* the op after this one in the free list */
    uint32_t regions[2];      /* region ids; CLIENT_NONE: none */
    uint8_t kind;             /* enum protocol_op */
    bool used, sync;
    uint8_t tail; /* if sync: index of the tail that the op sends */
};

struct client_tail {
    uint8_t *data; /* from sluice_alloc(); NULL: none yet */
    uint64_t size_bytes;
    bool busy;
};

struct sluice_conn {
    struct sluice *session;
    uint32_t handle, channel;
    uint32_t sends, recvs; /* outstanding sends and receives */
    uint32_t sync_sends;   /* how many of `sends` are synchronous */
    int sync_error;        /* first error of a tail in flight, not reported yet */
    bool closing, closed;
    struct client_tail tails[CLIENT_TAILS];
};

struct client_channel {
    struct protocol_channel *shared;
    struct protocol_submission *sq;
    struct protocol_completion *cq;
    uint32_t sq_tail, cq_head;
    uint32_t owed;
};

struct sluice {
    int sock;
    int wake_fd; /* epoll: the daemon's eventfd, sock, and self_fd if watched */
    int self_fd; /* eventfd that keeps wake_fd readable while completions are ready; -1: none */
    bool gone;   /* the daemon has ended the session; `error` says why */
    uint32_t idle_polls;
    char error[CLIENT_ERROR_MAX];
    char path[108];
    struct protocol_limits limits;
    uint32_t sq_entries, cq_entries, handles;
    uint8_t *memory;
    struct protocol_layout layout;
    struct client_channel channels[PROTOCOL_CHANNELS_MAX];
    struct sluice_conn **conns; /* indexed by handle */
    uint32_t *free_handles;     /* ring: the handle longest unused comes first */
    uint32_t free_first, free_count;
    struct client_op *ops;
    uint32_t ops_size, ops_used, ops_free;
    uint64_t order;
    struct sluice_completion *ready; /* ring of ready_size entries */
    uint32_t ready_size, ready_first, ready_count;
    struct client_region *regions; /* sorted by address */
    uint32_t regions_size, regions_count;
    uint32_t region_last; /* index of the region found last */
};

/* status.c: stores the message, returns status (negative errno). */
__attribute__((format(printf, 3, 4))) int client_fail(struct sluice *s, int status,
                                                      const char *format, ...);

/* socket.c */
int client_socket_open(struct sluice *s, const char *path);
/* Sends the request with descriptor fd (-1: none) and waits for the answer. *got (may be NULL) gets
 * the descriptor that comes with the answer, part (PROTOCOL_PART_MAX bytes, may be NULL) the bytes
 * that follow the answer. */
int client_ask(struct sluice *s, struct protocol_request *q, int fd, struct protocol_reply *a,
               int *got, void *part);
/* Has the daemon run the command in `line`. */
int client_ask_command(struct sluice *s, const char *line, struct protocol_reply *a);
/* Has the daemon wake the worker of a channel. */
void client_ring(struct sluice *s, uint32_t channel);
/* Sets `gone` if the daemon has ended the session, by PROTOCOL_BYE or by closing the socket. */
void client_socket_check(struct sluice *s);
void client_gone(struct sluice *s, const char *why);

/* sized.c: fills a struct of the application, of which it knows out_bytes, from one of ours. */
void client_sized_copy(void *out, size_t out_bytes, const void *in, size_t in_bytes);

/* memory.c */
int client_memory_map(uint64_t len_bytes, bool huge, uint8_t **base, int *fd);
/* The region that holds [data, data + len), or NULL. */
struct client_region *client_region_find(struct sluice *s, const void *data, uint64_t len);
void client_region_release(struct sluice *s, uint32_t id);
void client_memory_free_all(struct sluice *s);

/* op.c: takes a free op; CLIENT_NONE if there is no memory. */
uint32_t client_op_take(struct sluice *s, struct sluice_conn *c, enum protocol_op kind,
                        uint64_t user);
void client_op_give(struct sluice *s, uint32_t op);
void client_ready_put(struct sluice *s, const struct sluice_completion *done);
/* Those in out are size_bytes each. */
uint32_t client_ready_take(struct sluice *s, struct sluice_completion *out, size_t size_bytes,
                           uint32_t max);
/* Drops the ready completions of c. */
void client_ready_drop(struct sluice *s, const struct sluice_conn *c);
/* The daemon is gone: every op completes with -ENOTCONN, in order of submission. */
void client_op_abandon(struct sluice *s);

/* rings.c */
void client_rings_init(struct sluice *s);
/* Submits e, which takes up to `completions` completions. Returns 0, -EAGAIN if the completion ring
 * has no room for these and the outstanding ones, or -ENOTCONN. */
int client_submit(struct sluice *s, uint32_t channel, const struct protocol_submission *e,
                  uint32_t completions);
bool client_take(struct sluice *s, uint32_t channel, struct protocol_completion *e);
/* Arms all wake-ups. True if all completion rings are empty: the daemon will wake us. */
bool client_arm(struct sluice *s);

/* poll.c: moves completions from the rings to ops and the ready queue. */
void client_pump(struct sluice *s);
/* Sleeps until something may have arrived, at most timeout_ms (-1: no limit): 0 or -EINTR. */
int client_sleep(struct sluice *s, int timeout_ms);
/* Sleeps until the next event, then calls client_pump(). A call that waits for a certain event does
 * this in a loop. */
void client_wait_some(struct sluice *s);
/* Makes the descriptor of sluice_fd() readable exactly while there are completions to take. The
 * last step of every function of the library that has called client_pump(). */
void client_watch_settle(struct sluice *s);

/* conn.c */

/* One request of up to two pieces of memory; a piece of 0 bytes is absent. */
struct client_request {
    const void *data[2];
    uint64_t len[2];
    uint64_t user;
    enum protocol_op kind;          /* SEND or RECV */
    struct client_wait *wait;       /* of a synchronous send that waits, else NULL */
    const struct client_tail *tail; /* of a synchronous send, else NULL */
};
int client_conn_submit(struct sluice_conn *c, const struct client_request *r);

/* resolve.c: finds the addresses of HOST[:PORT]. Returns their number, at most max, or negative
 * errno. */
int client_resolve(struct sluice *s, const char *host_port, uint8_t (*peers)[16], int max,
                   uint16_t *port);

#endif
