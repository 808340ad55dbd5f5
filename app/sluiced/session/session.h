/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client sessions of the daemon. The control half (sessions_*) runs on the control lcore, and owns
 * the socket, the mappings and the quotas. The worker half (channels_*) is one set of channels per
 * host, and runs on that host's worker. The halves communicate through SPSC rte_rings only
 * (messages in channel.h).
 *
 * Nothing a client writes is believed: each submission entry is copied once, then checked. An index
 * out of range ends the session, not the daemon. A client can hurt only itself.
 */
#ifndef SLUICED_SESSION_H
#define SLUICED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/host.h"
#include "sluiced/session/access.h"

struct capture;
struct sessions;
struct channels;

/* A capture that a client asks for: of a port, into len_bytes of client memory. */
struct session_capture {
    uint32_t port, interface, snap_bytes; /* port: its index in the list "ports" */
    uint8_t *memory;
    uint64_t len_bytes;
    uid_t uid;
    pid_t pid;
    /* The answer: the memory begins with one ring for each queue of the port. */
    uint32_t rings;
    uint64_t ring_bytes;
};

struct sessions_config {
    const char *socket_path;
    const char *socket_group; /* name or number of the socket's group; NULL or "": our own */
    uint32_t max_sessions;
    uint64_t quota_bytes; /* client memory that each user (uid) may have; 0: no limit */
    /* Client memory that all users together may have; 0: no limit. The last sixteenth is for root
     * and the daemon's own user. */
    uint64_t quota_total_bytes;
    bool unlocked;             /* client memory may be paged out */
    struct access *access;     /* from malloc; sessions_create() takes it over in any case. NULL: no
                                  rules */
    struct host *const *hosts; /* channel i of every session belongs to hosts[i] */
    uint32_t n_hosts;
    /* Callbacks into the daemon, called on the control lcore. route: the channel that leads to
     * peer, or negative errno. show: JSON text for "conns", "ports", ..., malloc'ed, with what the
     * viewer may see; NULL if `what` is unknown. */
    int (*route)(void *ctx, const struct addr *peer);
    char *(*show)(void *ctx, const char *what, const struct access_user *viewer);
    /* Executes a command line, for root and the daemon's own user only. Returns 0 with a remark
     * ("": none) in text, or negative errno with the reason. May be NULL. */
    int (*command)(void *ctx, const char *line, char *text, size_t text_len);
    /* For root and the daemon's own user only; may be NULL. capture has workers copy frames into
     * client memory from now on: 0 with *made, or negative errno with the reason in text.
     * capture_end has them stop at their next iteration; capture_free is called after that. */
    int (*capture)(void *ctx, struct session_capture *c, struct capture **made, char *text,
                   size_t text_len);
    void (*capture_end)(void *ctx, struct capture *c);
    void (*capture_free)(void *ctx, struct capture *c);
    /* map makes client memory usable by ports (DMA); unmap undoes that. Both may be NULL. */
    int (*map)(void *ctx, void *memory, uint64_t len_bytes);
    void (*unmap)(void *ctx, void *memory, uint64_t len_bytes);
    void *ctx;
};

/* Binds the socket with mode 0660. A stale socket is replaced; a socket that a daemon serves is an
 * error. On failure returns NULL with a message in err. */
struct sessions *sessions_create(const struct sessions_config *cfg, char *err, size_t err_len);
/* For epoll: readable when sessions_poll() has work. */
int sessions_fd(const struct sessions *s);
/* Serves clients that are ready, without blocking. Also called every control interval, for clean-up
 * that waits for workers. */
void sessions_poll(struct sessions *s);
/* Ends every session; connections end with `end`. Workers must run until sessions_idle(). */
void sessions_stop(struct sessions *s, enum wire_end end);
bool sessions_idle(const struct sessions *s);

/* One client, as operators see it. */
struct session_info {
    uint32_t slot;
    uint64_t uid, pid;
    const char *state;          /* new, open, ending */
    uint64_t ring_bytes;        /* memory of its rings */
    uint64_t region_bytes;      /* memory of its regions */
    uint64_t user_bytes;        /* memory of all sessions of its user; 0: none yet */
    uint32_t regions, services; /* number of its regions; of services that it listens to */
};
/* On the control lcore. False if the slot is free. Slots are 0 .. sessions_limit() - 1. */
bool sessions_info(const struct sessions *s, uint32_t slot, struct session_info *out);
uint32_t sessions_limit(const struct sessions *s);
/* Limits client memory that is mapped from now on. */
void sessions_set_quota(struct sessions *s, uint64_t quota_bytes, uint64_t quota_total_bytes);
/* Replaces the rules by a (from malloc), and takes it over. A session that has a service which its
 * user may not have any more ends, and so does a connection to a peer that its user may not open
 * connections to. */
void sessions_set_access(struct sessions *s, struct access *a);
/* Does a connection that is not closed, with this owner (struct host_conn_info), belong to this
 * user? */
bool sessions_own(const struct sessions *s, uint64_t owner, uid_t uid);
/* The connected clients that the viewer may see: a jansson array; session_info.c. */
struct json_t;
struct json_t *sessions_json(const struct sessions *s, const struct access_user *viewer);
/* To be called after the workers have stopped. Removes the socket. */
void sessions_destroy(struct sessions *s);

struct wakeup;

/* The worker half for hosts[i]. */
struct channels *sessions_channels(struct sessions *s, uint32_t i);
/* Serves control's messages, takes submissions, delivers completions, wakes sleeping clients.
 * Returns how many things it did (0: idle). Worker only. */
uint32_t channels_poll(struct channels *c, uint64_t now);
/* Announces that the worker is about to sleep: a client that submits from here on wakes it. False
 * if it must not sleep, because there is a submission already, or a closing session has to be
 * polled. Worker only. */
bool channels_sleep(struct channels *c);
/* The worker is awake again. Worker only. */
void channels_awake(struct channels *c);
/* Sets what control and clients wake the worker with. To be called before the worker runs. */
void channels_set_wakeup(struct channels *c, const struct wakeup *wakeup);

#endif
