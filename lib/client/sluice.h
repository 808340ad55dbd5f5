/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libsluice: bulk transfer through a running sluiced. Needs no DPDK to compile or link.
 *
 * An application opens a session, allocates memory from it, connects or accepts, and submits
 * requests: request n sent on one side fills the n-th receive buffer of the other. Every submission
 * completes exactly once. Completions come in order per connection and direction. The daemon reads
 * and writes payload directly in the session's memory: a buffer belongs to the daemon from
 * submission to completion.
 *
 * Functions return 0 or a count on success, and a negative errno on failure. After a failure,
 * sluice_error() returns one line that names the cause and the cure. Only one thread at a time may
 * use a session. After fork(2), only the parent may. A child that does not call execve(2) keeps the
 * session's socket open, so the daemon does not notice that the parent has died, and keeps its
 * connections, services and memory until the child ends, too. Man page: libsluice(3).
 *
 * Later versions may add fields at the ends of the structs that the library fills. So the functions
 * that fill them take the size that the program knows, as sched_getattr(2) does: they fill that
 * much of what the library knows, and zero the rest. So either side may be the older one. The size
 * is an argument and not a field, because nobody can forget to set it and an array needs it only
 * once. A mask of the wanted fields (ibv_query_device_ex(3)) or a call for each field would cost
 * every program more lines. Programs in C call sluice_poll() and sluice_conn_stats(), which pass
 * the size.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice_version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_SOCKET_DEFAULT "/run/sluice/sluiced.sock"
#define SLUICE_PORT_DEFAULT   7000         /* service number if none is given */
#define SLUICE_REQUEST_MAX    (1ull << 32) /* bytes of one request */

/*
 * The version of the library that the program runs with, such as "0.1.0". SLUICE_VERSION is the
 * version that the program is compiled with. SLUICE_VERSION_MAJOR, _MINOR and _PATCH are its
 * numbers, for #if.
 */
const char *sluice_version(void);

struct sluice;      /* a session with a daemon */
struct sluice_conn; /* a connection; a passive one may still wait for its peer */

/* Opens a session through the daemon's socket (NULL: $SLUICE_SOCKET, else the default). On failure
 * *session is NULL, and err (err_len bytes) holds the message. */
int sluice_open(struct sluice **session, const char *socket_path, char *err, size_t err_len);
/* Aborts open connections, and frees everything that belongs to the session, memory included. */
void sluice_close(struct sluice *s);
/* The message of the session's last failure. Never NULL. */
const char *sluice_error(const struct sluice *s);

/*
 * Allocates memory for requests to send from or receive into: page aligned, zeroed, locked by the
 * daemon, in hugepages if some are free. It counts against the user's quota in the daemon
 * (EDQUOT). On failure it returns NULL, and errno says why. Free it with sluice_free(), which
 * returns -EBUSY while requests use it, or with sluice_close().
 */
void *sluice_alloc(struct sluice *s, uint64_t len_bytes);
int sluice_free(struct sluice *s, void *memory);

enum sluice_flag {
    SLUICE_GO_BACK_N = 1, /* sluice_connect(): repeat by go-back-N, not selectively */
};

/*
 * Opens a connection to HOST[:PORT], where HOST is a name, an IPv4 address, or an IPv6 address in
 * brackets, and PORT is the service number. Does not wait for the peer: the opening completes with
 * SLUICE_OP_CONNECT. Sends and receives may be submitted at once; data travel right behind the
 * opening packet. -EACCES: the daemon's configuration does not let this user connect to that peer.
 */
int sluice_connect(struct sluice *s, const char *host_port, uint32_t flags, uint64_t user,
                   struct sluice_conn **conn);

/* Claims a service number on all ports of the daemon. -EADDRINUSE: it is taken; -EACCES: the
 * daemon's configuration does not give it to this user. */
int sluice_listen(struct sluice *s, uint16_t port);
int sluice_unlisten(struct sluice *s, uint16_t port);

/*
 * Makes a passive connection, which takes the next peer of the service on worker `channel`. Peers
 * are spread over channels 0 .. sluice_channels() - 1: submit at least one accept on each. Receives
 * may be submitted at once, so that data right behind the opening packet are placed.
 *
 * SLUICE_OP_ACCEPT completes when the opening packet has come. Its source address may be forged:
 * the peer proves its address one round trip later. Until then nothing else on the connection
 * completes. Without the proof, all its requests fail with -ETIMEDOUT.
 */
int sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                  struct sluice_conn **conn);
uint32_t sluice_channels(const struct sluice *s);

/*
 * Submits one request of len bytes (0 .. SLUICE_REQUEST_MAX). data must lie in memory of
 * sluice_alloc(). -EAGAIN: too many requests are outstanding (sluice_depth()); take completions
 * first.
 */
int sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user);
int sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user);
/* How many requests may be outstanding per connection and direction. */
uint32_t sluice_depth(const struct sluice *s);

/*
 * Synchronous send by partial copy ([VT]): returns when data may be reused. The library copies the
 * tail of the request (rate x RTT bytes), so it returns when the peer has everything but the tail.
 * A request no longer than the tail returns at once. If sending a tail fails later, the next
 * sluice_send_sync() on the connection, or sluice_flush(), reports it. Other completions that
 * arrive meanwhile are kept for sluice_poll().
 */
int sluice_send_sync(struct sluice_conn *c, const void *data, uint64_t len);
/* Waits until every synchronous send on the connection is acknowledged. */
int sluice_flush(struct sluice_conn *c);

/*
 * Limits the connection, in bytes of payload a second: what it sends to tx_Bps, whatever the peer
 * grants, and what it grants the peer to rx_Bps. 0: no limit, as at the start. Holds from now on,
 * at any time of the connection, and replaces the limits before. The daemons space the packets, so
 * there are no bursts, and what a limit leaves of the receiving host goes to its other senders.
 * Nothing completes. -EAGAIN: too many requests are outstanding; take completions first.
 */
int sluice_limit(struct sluice_conn *c, uint64_t tx_Bps, uint64_t rx_Bps);

/* Ends sending. Completes with SLUICE_OP_SHUTDOWN when the peer has confirmed everything sent. */
int sluice_shutdown(struct sluice_conn *c, uint64_t user);
/* Closes the connection: cleanly if both directions were shut down, otherwise by an abort. Waits
 * until the daemon has released its buffers. Outstanding completions are dropped, and c must not be
 * used any more. */
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
    uint64_t len;  /* bytes transferred */
    struct sluice_conn *conn;
    int status; /* 0 or negative errno. -ENODATA: the peer shut down, and all of its data
                   have come; -ETIMEDOUT: the peer is silent; -ECONNREFUSED: no application
                   listens there; -ECONNRESET: the peer gave up or died; -EMSGSIZE: the
                   receive buffer is too short; -ECANCELED: canceled on this side;
                   -EHOSTUNREACH: no neighbour answers; -ESHUTDOWN: the peer's daemon
                   stopped; -ECOMM: the path drops data of any size; -ENOTCONN: our daemon
                   is gone */
    enum sluice_op op;
};

/*
 * Takes up to max completions; those in out are size_bytes each. Sleeps up to timeout_ms until
 * there is one (0: does not wait, -1: no limit). Returns their number, 0 after the timeout or a
 * signal, or -ENOTCONN if the daemon is gone and all completions were taken. -EINVAL: size_bytes is
 * 0.
 */
int sluice_poll_sized(struct sluice *s, struct sluice_completion *out, size_t size_bytes,
                      uint32_t max, int timeout_ms);
static inline int sluice_poll(struct sluice *s, struct sluice_completion *out, uint32_t max,
                              int timeout_ms)
{
    return sluice_poll_sized(s, out, sizeof *out, max, timeout_ms);
}
/* A descriptor for the application's own event loop: readable when sluice_poll(…, 0) may have
 * something. Only watch it, do not read from it. */
int sluice_fd(struct sluice *s);

/* Text for a status: one line that names the cause and the cure. */
const char *sluice_status_text(int status);

struct sluice_stats {
    uint64_t tx_rate_Bps, tx_burst_bytes; /* granted by the peer */
    uint64_t rx_rate_Bps, rx_burst_bytes; /* granted to the peer */
    uint64_t rtt_ns;
    uint64_t tx_bytes, tx_units, tx_repeats; /* payload bytes and units sent; units sent again */
    uint64_t rx_bytes, rx_units, rx_lost;    /* payload bytes and units placed; packets lost */
    uint64_t rx_momentary_Bps;
    uint32_t unit_bytes;
    uint32_t state; /* 1: waiting, 2: opening, 3: open, 4: closed */
    char peer[64];  /* address:port, "" until known */
    /* How long our sender waited for the application (all that it had submitted was sent), for
     * buffers of the peer (its application is slower), and for the peer's grant or the port; in
     * all, the time since the connection was opened. To see what limits a transfer, take
     * differences. */
    uint64_t tx_app_limited_ns, tx_peer_limited_ns, tx_rate_limited_ns;
    /* Why the grant is what it is: a word of the column WHY of "sluice show conns", as "capacity";
     * "" until known. */
    char tx_why[16]; /* of the peer's grant */
    char rx_why[16]; /* of ours */
    /* What the connection's port carries, in bytes of payload a second: as its capacity is
     * configured or as its link says, whichever is less; 0: neither is known. */
    uint64_t port_Bps;
};
/* Copies rates, round-trip time, counters and state of a connection to out, which is size_bytes
 * long. The daemon refreshes them about every 10 ms. */
void sluice_conn_stats_sized(const struct sluice_conn *c, struct sluice_stats *out,
                             size_t size_bytes);
static inline void sluice_conn_stats(const struct sluice_conn *c, struct sluice_stats *out)
{
    sluice_conn_stats_sized(c, out, sizeof *out);
}

/*
 * The name of the peer whose key has proved the connection: NAME of its section [peer NAME] in our
 * daemon's configuration. Returns 0; -ENOENT with "" in name: the connection is plain, its peer has
 * not proved its key yet, or the peer is not in the configuration any more (this is no failure, and
 * leaves sluice_error() as it is). -EMSGSIZE: name_len is less than the name needs, which
 * SLUICE_PEER_MAX never is. A connection that was accepted has the
 * name from SLUICE_OP_ACCEPT on, one that was opened from SLUICE_OP_CONNECT on.
 */
#define SLUICE_PEER_MAX 64
int sluice_peer(const struct sluice_conn *c, char *name, size_t name_len);

/* Gets what the daemon shows, as JSON text to free(): an object with "uptime_ns" and an array. The
 * array has the name `what`, one of "conns", "ports", "workers", "capacity", "history", "trace",
 * "reload", "spread", "clients", "neigh", "peers", "port-stats" or "port-xstats" (sluice(1), show).
 * Users other than root and the daemon's own see only what is theirs; the object then has a member
 * "only_uid". -EINVAL: there is no such name. */
int sluice_show(struct sluice *s, const char *what, char **json);
/* Has the daemon make a change that sluice-console(7) lists: `line` is, for example, "set capacity
 * 5Gbit". `answer` (answer_len bytes) gets a remark of one line, or "". -EPERM: only root and the
 * daemon's own user may do this. */
int sluice_command(struct sluice *s, const char *line, char *answer, size_t answer_len);

#ifdef __cplusplus
}
#endif
#endif
