/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client sessions of the daemon. The control half (sessions_*) owns the socket, the mappings and
 * quotas and runs on the control lcore; the worker half (channels_*) is one set of channels per
 * host and runs on that host's worker. They talk through SPSC rte_rings only (messages in
 * channel.h).
 *
 * Nothing a client writes is believed: each submission entry is copied once, then checked; indices
 * out of range end the session, not the daemon. A client can hurt itself only.
 */
#ifndef SLUICED_SESSION_H
#define SLUICED_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/host.h"

struct sessions;
struct channels;

struct sessions_config {
    const char *socket_path;
    const char *socket_group; /* name or number of the socket's group; NULL or "": our own */
    uint32_t max_sessions;
    uint64_t quota_bytes;       /* of client memory per user (uid); 0: none */
    uint64_t quota_total_bytes; /* of client memory of all users; 0: none */
    bool unlocked;              /* client memory may be paged out */
    struct host *const *hosts;  /* channel i of every session belongs to hosts[i] */
    uint32_t n_hosts;
    /* The daemon's answers; called on the control lcore. route: which channel leads to peer, or
     * negative errno. show: JSON text for "conns", "ports", ...; malloc'ed, NULL if unknown. */
    int (*route)(void *ctx, const struct addr *peer);
    char *(*show)(void *ctx, const char *what);
    /* Does what a line says, for root and the daemon's own user only: 0 and a remark ("": none) in
     * text, or negative errno and why. May be NULL. */
    int (*command)(void *ctx, const char *line, char *text, size_t text_len);
    /* Makes client memory usable by ports (DMA), and undoes it. May be NULL. */
    int (*map)(void *ctx, void *memory, uint64_t len_bytes);
    void (*unmap)(void *ctx, void *memory, uint64_t len_bytes);
    void *ctx;
};

/* Binds the socket (0660, stale ones are replaced, a live daemon's is an error). NULL with a
 * message in err. */
struct sessions *sessions_create(const struct sessions_config *cfg, char *err, size_t err_len);
/* Readable when sessions_poll() has work: for epoll. */
int sessions_fd(const struct sessions *s);
/* Serves what is ready, without blocking; also called every control interval for clean-up that
 * waits for workers. */
void sessions_poll(struct sessions *s);
/* Ends every session (connections get `end`); workers must still run until sessions_idle(). */
void sessions_stop(struct sessions *s, enum wire_end end);
bool sessions_idle(const struct sessions *s);

/* What is known of one client, for people. */
struct session_info {
    uint32_t slot;
    uint64_t uid, pid;
    const char *state;          /* new, open, ending */
    uint64_t ring_bytes;        /* of its rings; */
    uint64_t region_bytes;      /* of its buffers, in so many regions */
    uint64_t user_bytes;        /* of all sessions of its user; 0: it has none yet */
    uint32_t regions, services; /* services: that it listens to */
};
/* On the control lcore; false if the slot is free. Slots are below the limit. */
bool sessions_info(const struct sessions *s, uint32_t slot, struct session_info *out);
uint32_t sessions_limit(const struct sessions *s);
/* Of client memory that is taken from now on. */
void sessions_set_quota(struct sessions *s, uint64_t quota_bytes, uint64_t quota_total_bytes);
/* The connected clients: a jansson array; session_info.c. */
struct json_t;
struct json_t *sessions_json(const struct sessions *s);
/* After the workers stopped. Removes the socket. */
void sessions_destroy(struct sessions *s);

struct wakeup;

/* The worker half for hosts[i]. */
struct channels *sessions_channels(struct sessions *s, uint32_t i);
/* Serves control's messages, takes submissions, delivers completions, wakes sleeping clients.
 * Returns how many things it did (0: idle). Worker only. */
uint32_t channels_poll(struct channels *c, uint64_t now);
/* The worker is about to sleep until something wakes it: a client that submits from here on does.
 * False: there is a submission already, or something has to be looked at again and again. Worker
 * only. */
bool channels_sleep(struct channels *c);
/* It does not sleep any more. Worker only. */
void channels_awake(struct channels *c);
/* What control and clients wake the worker with, before it runs. */
void channels_set_wakeup(struct channels *c, const struct wakeup *wakeup);

#endif
