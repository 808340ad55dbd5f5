/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control half of client sessions, private to session*.c; everything here belongs to the
 * control lcore.
 *
 * Invariants: a session has at most one request under way (pending), answered once; workers see its
 * memory only between ATTACH and the answers to DETACH, and regions only between REGION_ADD and
 * the answers to REGION_DROP or DETACH, so nothing is unmapped that a worker may touch; the bytes
 * of a user are the sum of the mappings of its sessions.
 */
#ifndef SLUICED_SESSION_STATE_H
#define SLUICED_SESSION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/protocol.h"
#include "sluiced/session/channel.h"
#include "sluiced/session/session.h"

#define SESSION_NONE     UINT32_MAX
#define SESSION_REQUESTS 8            /* served per session and call */
#define SESSION_ACCEPTS  16           /* new clients per call */
#define SESSION_SLICE    (8ull << 20) /* bytes faulted in per call, over all sessions */
#define SESSION_TEXT_MAX PROTOCOL_TEXT_MAX

/* Client memory, mapped. */
struct session_mapping {
    uint8_t *base; /* NULL: none */
    uint64_t len_bytes;
    uint64_t populated_bytes;
    int fd;           /* until populated; -1: none */
    bool port_mapped; /* cfg.map() was called */
};

/* What a user has, over its sessions. */
struct session_user {
    uid_t uid;
    uint32_t sessions; /* 0: entry is free */
    uint64_t used_bytes;
};

enum session_state {
    SESSION_FREE,
    SESSION_NEW,    /* connected; no rings yet */
    SESSION_OPEN,   /* workers have it */
    SESSION_ENDING, /* workers were told DETACH, or had nothing */
};

enum session_step {
    SESSION_STEP_MAP,  /* memory is being faulted in */
    SESSION_STEP_TELL, /* workers were told */
    SESSION_STEP_UNDO, /* some worker refused: the others are told to undo it */
};

/* The request under way. */
struct session_pending {
    uint16_t type;    /* enum protocol_type; 0: none */
    uint8_t step;     /* enum session_step */
    uint32_t waiting; /* answers of workers due */
    uint32_t id;      /* region or service */
    int status;       /* worst answer */
    uint64_t agreed;  /* which channels did it: bit per channel */
    char text[SESSION_TEXT_MAX];
    struct protocol_session session; /* SESSION: what was asked for */
};

struct session {
    enum session_state state;
    uint32_t slot;
    int fd;
    uid_t uid;
    pid_t pid;
    bool greeted;   /* HELLO came */
    bool readable;  /* requests may wait on fd */
    bool hung_up;   /* nobody is at the other end */
    bool end_asked; /* ends as soon as no request is under way */
    enum wire_end end;
    uint32_t detaching; /* answers to DETACH due */
    int wake_fd;        /* eventfd that workers write; -1: none */
    struct session_user *user;
    struct session_mapping memory;
    struct session_mapping *regions; /* PROTOCOL_REGIONS_MAX */
    uint16_t services[PROTOCOL_SERVICES_MAX];
    uint32_t n_services;
    struct channel_session **channels; /* by channel */
    struct session_pending pending;
    char *show; /* text being read in parts */
    uint64_t show_bytes;
};

struct sessions {
    struct sessions_config cfg;
    char path[108];
    dev_t socket_dev; /* of the socket file, so that only ours is removed */
    ino_t socket_ino;
    int listen_fd, epoll_fd;
    uint32_t depth, handles;
    bool stopping;
    enum wire_end stop_end;
    uint64_t used_bytes;                 /* of all users */
    uint64_t slice;                      /* bytes that may still be faulted in by this call */
    uint32_t serve_at;                   /* which session is served first */
    struct channels **channels;          /* by host */
    struct session *all;                 /* max_sessions */
    struct session_user *users;          /* max_sessions */
    uint32_t owners[1u << 16];           /* of services: slot + 1, 0: nobody */
    char line[PROTOCOL_COMMAND_MAX + 1]; /* what followed the request being read */
};

/* ---- session_reply.c -------------------------------------------------------------------- */

/* Sends one message; fd -1: none. A client that does not read its answers is cut off. */
void session_say(struct session *x, const struct protocol_reply *a, const void *part,
                 uint32_t part_len, int fd);
void session_reply(struct session *x, uint16_t type, int status, const char *text);
/* Answers what is pending. */
void session_pending_reply(struct session *x, int status, const char *text);
/* Tells the workers in `which` (a bit per channel), or all; region may be NULL. */
void session_pending_tell(struct sessions *s, struct session *x, uint16_t type, uint64_t which,
                          const struct session_mapping *region);
void session_pending_tell_all(struct sessions *s, struct session *x, uint16_t type,
                              const struct session_mapping *region);
/* Ends the session: text (may be NULL) is told to the client. */
void session_end(struct sessions *s, struct session *x, enum wire_end end, int status,
                 const char *text);

/* ---- session_map.c ---------------------------------------------------------------------- */

/* Charges len_bytes to the user, maps and seals fd (taken over in any case). 0, or negative errno
 * and text. */
int session_map_open(struct sessions *s, struct session *x, int fd, uint64_t len_bytes,
                     struct session_mapping *m, char *text);
/* Faults a slice in: 1 if all is there, 0 if there is more to do, negative errno and text. */
int session_map_step(struct sessions *s, struct session_mapping *m, char *text);
/* Undoes it all, in any state. */
void session_map_close(struct sessions *s, struct session *x, struct session_mapping *m);

/* Requests: each answers, or makes itself pending; takes fd over (-1: none). */
void session_ask_region(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd);
void session_ask_unregion(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd);
/* Go on with them. */
void session_go_region(struct sessions *s, struct session *x);
void session_go_unregion(struct sessions *s, struct session *x);

/* ---- session_message.c ------------------------------------------------------------------ */

/* Reads and serves requests, goes on with the one under way. */
void session_serve(struct sessions *s, struct session *x);
/* An answer of a worker. */
void session_heard(struct sessions *s, struct session *x, uint32_t channel,
                   const struct channel_message *m);

/* ---- session_port.c: asked by a client, gone on with --------------------------------------- */

void session_ask_listen(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd);
void session_go_listen(struct sessions *s, struct session *x);
void session_ask_unlisten(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd);
void session_go_unlisten(struct sessions *s, struct session *x);

#endif
