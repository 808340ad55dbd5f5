/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libsluice: bulk transfer through a running sluiced. No DPDK is needed to compile or link.
 *
 * An application opens a session, takes memory from it, connects or accepts, and submits requests:
 * request n sent on one side fills the n-th receive buffer of the other. Every submission completes
 * exactly once, in order per connection and direction. Payload is read from and written to that
 * memory by the daemon; a buffer belongs to the daemon from submission to completion.
 *
 * Functions return 0 or a count on success and a negative errno on failure; sluice_error() then
 * has one line that names the cause and the cure. A session belongs to one thread at a time.
 * Man page: libsluice(3).
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_SOCKET_DEFAULT "/run/sluice/sluiced.sock"
#define SLUICE_PORT_DEFAULT   7000 /* service number used where none is given */
#define SLUICE_REQUEST_MAX    (1ull << 32)

struct sluice;      /* a session with a daemon */
struct sluice_conn; /* a connection, or a passive one waiting for its peer */

/* Connects to the daemon's socket (NULL: $SLUICE_SOCKET, else the default). On failure
 * *session is NULL and err (err_len bytes) has the message. */
int sluice_open(struct sluice **session, const char *socket_path, char *err, size_t err_len);
/* Aborts what is open, returns all memory. */
void sluice_close(struct sluice *s);
/* Message of the last failure in this session. Never NULL. */
const char *sluice_error(const struct sluice *s);

/*
 * Memory that can be sent from and received into: page aligned, zeroed, locked by the daemon; uses
 * hugepages where there are any. Counts against the session's quota (-EDQUOT). Freed by
 * sluice_free() (-EBUSY while requests use it) or sluice_close().
 */
void *sluice_alloc(struct sluice *s, uint64_t len_bytes);
int sluice_free(struct sluice *s, void *memory);

enum sluice_flag {
    SLUICE_GO_BACK_N = 1, /* sluice_connect(): recover by go-back-N instead of selectively */
};

/*
 * Opens a connection to HOST[:PORT] (a name, IPv4, or IPv6 in brackets; PORT is the service)
 * without waiting: completes with SLUICE_OP_CONNECT. Sends and receives may be submitted at once
 * and travel right behind the opening packet.
 */
int sluice_connect(struct sluice *s, const char *host_port, uint32_t flags, uint64_t user,
                   struct sluice_conn **conn);

/* Claims a service number on all the daemon's ports; -EADDRINUSE if somebody has it. */
int sluice_listen(struct sluice *s, uint16_t port);
int sluice_unlisten(struct sluice *s, uint16_t port);

/*
 * A passive connection that takes the next peer of the service on worker `channel` (0 ..
 * sluice_channels() - 1: submit at least one on each). Receives may be submitted at once, so that
 * data behind the opening packet are placed. Completes with SLUICE_OP_ACCEPT when that packet has
 * come: its source may be forged. The peer proves its address one round trip later; until then
 * nothing else on the connection completes, and without the proof all of it fails (-ETIMEDOUT).
 */
int sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                  struct sluice_conn **conn);
uint32_t sluice_channels(const struct sluice *s);

/*
 * Submits one request of len bytes (0 .. SLUICE_REQUEST_MAX) from, or into, memory of
 * sluice_alloc(). -EAGAIN: too many are outstanding, take completions first (sluice_depth()).
 */
int sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user);
int sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user);
/* Requests that may be outstanding per connection and direction. */
uint32_t sluice_depth(const struct sluice *s);

/*
 * Synchronous send by partial copy (VT): returns when data may be reused, which is when the peer
 * has everything but the tail that was copied (rate x RTT bytes); a request no longer than the tail
 * returns at once. Errors of tails in flight are reported by the next call on the connection or by
 * sluice_flush(). Other completions that arrive meanwhile are kept for sluice_poll().
 */
int sluice_send_sync(struct sluice_conn *c, const void *data, uint64_t len);
/* Waits until every synchronous send is acknowledged. */
int sluice_flush(struct sluice_conn *c);

/* No more sends; completes with SLUICE_OP_SHUTDOWN once the peer has confirmed everything. */
int sluice_shutdown(struct sluice_conn *c, uint64_t user);
/* Gives the connection up (clean if both directions were shut down, an abort otherwise) and waits
 * until the daemon has let go of its buffers. The handle is gone; outstanding completions are
 * dropped. */
int sluice_conn_close(struct sluice_conn *c);

enum sluice_op {
    SLUICE_OP_CONNECT,
    SLUICE_OP_ACCEPT,
    SLUICE_OP_SEND,
    SLUICE_OP_RECV,
    SLUICE_OP_SHUTDOWN,
};

struct sluice_completion {
    uint64_t user; /* of the submission */
    uint64_t len;  /* bytes moved */
    struct sluice_conn *conn;
    int status; /* 0 or negative errno; -ENODATA: the peer shut down and all has come;
                   -ETIMEDOUT: peer silent; -ECONNREFUSED: nobody receives there;
                   -ECONNRESET: the peer gave up, or died; -EMSGSIZE: buffer too short;
                   -ECANCELED; -EHOSTUNREACH: no such neighbour; -ESHUTDOWN: the
                   peer's daemon stopped; -ECOMM: the path drops data of any size;
                   -ENOTCONN: our daemon is gone */
    enum sluice_op op;
};

/*
 * Takes up to max completions. Waits up to timeout_ms for the first (0: not at all, -1: for ever),
 * asleep on an eventfd. Returns their number, or -ENOTCONN if the daemon is gone.
 */
int sluice_poll(struct sluice *s, struct sluice_completion *out, uint32_t max, int timeout_ms);
/* The eventfd to watch in an own event loop, readable when sluice_poll(…, 0) may have something. */
int sluice_fd(struct sluice *s);

/* Text for a status, one line with cause and cure. */
const char *sluice_status_text(int status);

struct sluice_stats {
    uint64_t tx_rate_Bps, tx_burst_bytes; /* granted by the peer */
    uint64_t rx_rate_Bps, rx_burst_bytes; /* granted to the peer */
    uint64_t rtt_ns;
    uint64_t tx_bytes, tx_units, tx_repeats; /* payload bytes sent; units; of those sent again */
    uint64_t rx_bytes, rx_units, rx_lost;
    uint64_t rx_momentary_Bps;
    uint32_t unit_bytes;
    uint32_t state; /* 1 waiting, 2 opening, 3 open, 4 closed */
    char peer[64];  /* address:port, "" until known */
};
/* Refreshed by the daemon about every 10 ms. */
void sluice_conn_stats(const struct sluice_conn *c, struct sluice_stats *out);

/* What the daemon shows, as JSON text to free(): an object with "uptime_ns" and an array named as
 * what: "conns", "ports", "workers", "capacity", "history", "trace", "reload", "spread", "clients",
 * "neigh", "port-stats" or "port-xstats" (sluice(1), show). -EINVAL: nothing is called that. */
int sluice_show(struct sluice *s, const char *what, char **json);
/* Has the daemon do what sluice-console(7) says that it can: line is such as "set capacity 5Gbit";
 * answer (answer_len bytes) gets a remark of one line, or "". -EPERM: only root and the daemon's
 * own user may. */
int sluice_command(struct sluice *s, const char *line, char *answer, size_t answer_len);

#ifdef __cplusplus
}
#endif
#endif
