/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control half of client sessions, private to session*.c. Everything here is owned by the
 * control lcore.
 *
 * Invariants: A session has at most one request under way (pending), which is answered once.
 * Workers see the session's memory only between ATTACH and the answers to DETACH, and a region only
 * between REGION_ADD and the answers to REGION_DROP or DETACH; so nothing is unmapped that a worker
 * may touch. used_bytes of a user = the sum of the mappings of its sessions.
 */
#ifndef SLUICED_SESSION_STATE_H
#define SLUICED_SESSION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/protocol.h"
#include "sluiced/session/access.h"
#include "sluiced/session/channel.h"
#include "sluiced/session/session.h"

#define SESSION_NONE     UINT32_MAX
#define SESSION_REQUESTS 8            /* served per session and call of sessions_poll() */
#define SESSION_ACCEPTS  16           /* new clients per call of sessions_poll() */
#define SESSION_SLICE    (8ull << 20) /* bytes faulted in per sessions_poll(), over all sessions */
#define SESSION_TEXTS    1            /* made for SHOW per sessions_poll(), over all sessions */
#define SESSION_TEXT_MAX PROTOCOL_TEXT_MAX
#define SESSION_CAPTURES 16u /* per session */

/* A mapping of client memory. */
struct session_mapping {
    uint8_t *base; /* NULL: none */
    uint64_t len_bytes;
    uint64_t populated_bytes;
    int fd;           /* the memfd, open until all is populated; -1: none */
    bool port_mapped; /* cfg.map() was called */
};

/* What a user uses, over all its sessions. */
struct session_user {
    uid_t uid;
    uint32_t sessions; /* 0: entry is free */
    uint64_t used_bytes;
};

enum session_state {
    SESSION_FREE,
    SESSION_NEW,    /* connected; no rings yet */
    SESSION_OPEN,   /* workers serve it */
    SESSION_ENDING, /* workers were sent DETACH, if they served it */
};

enum session_step {
    SESSION_STEP_MAP,  /* memory is being faulted in */
    SESSION_STEP_TELL, /* workers were asked; their answers are due */
    SESSION_STEP_UNDO, /* a worker refused; the others are asked to undo it */
};

/* The request under way. */
struct session_pending {
    uint16_t type;    /* enum protocol_type; 0: none */
    uint8_t step;     /* enum session_step */
    uint32_t waiting; /* answers that workers owe */
    uint32_t id;      /* region or service */
    int status;       /* the first error that a worker answered; 0: none */
    uint64_t agreed;  /* channels that agreed: a bit per channel */
    char text[SESSION_TEXT_MAX];
    struct protocol_session session; /* parameters of a request SESSION */
    struct protocol_show show;       /* those of a request SHOW */
};

struct session {
    enum session_state state;
    uint32_t slot;
    int fd;
    uid_t uid;
    pid_t pid;
    gid_t *groups; /* of user_rights */
    struct access_user user_rights;
    bool greeted;   /* HELLO came */
    bool readable;  /* requests may wait on fd */
    bool hung_up;   /* the client is gone, or does not read its answers */
    bool end_asked; /* ends as soon as no request is under way */
    enum wire_end end;
    uint32_t detaching; /* answers to DETACH that workers owe */
    int wake_fd;        /* eventfd that workers write; -1: none */
    struct session_user *user;
    struct session_mapping memory;
    struct session_mapping *regions; /* PROTOCOL_REGIONS_MAX entries */
    uint16_t services[PROTOCOL_SERVICES_MAX];
    uint32_t n_services;
    struct channel_session **channels; /* by channel */
    struct session_pending pending;
    struct capture *captures[SESSION_CAPTURES]; /* the first n_captures are in use */
    uint32_t capture_regions[SESSION_CAPTURES]; /* [i]: the region that captures[i] writes */
    uint32_t n_captures;
    char *show; /* text that the client reads in parts */
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
    uint64_t used_bytes;        /* of all users */
    uint64_t slice;             /* bytes that this sessions_poll() may still fault in */
    uint32_t texts;             /* that it may still make */
    uint32_t serve_at;          /* which session is served first */
    struct channels **channels; /* by host */
    struct session *all;        /* max_sessions entries */
    struct session_user *users; /* max_sessions entries */
    uint32_t owners[1u << 16];  /* by service: its session's slot + 1; 0: none */
    /* The rules: the newest ones; those that workers have, or are being told of; those that
     * some workers may still have while access_waiting of them have not answered. NULL: none. */
    struct access *access, *access_given, *access_before;
    uint32_t access_waiting;
    char line[PROTOCOL_COMMAND_MAX + 1]; /* the bytes behind the request being read */
};

/* ---- session_reply.c -------------------------------------------------------------------- */

/* Sends one message. fd: a descriptor that goes along; -1: none. A client that does not read its
 * answers is cut off. */
void session_say(struct session *x, const struct protocol_reply *a, const void *part,
                 uint32_t part_len, int fd);
void session_reply(struct session *x, uint16_t type, int status, const char *text);
/* Answers the pending request. */
void session_pending_reply(struct session *x, int status, const char *text);
/* Sends a message for the pending request to the workers in `which` (a bit per channel), or to all.
 * region may be NULL. */
void session_pending_tell(struct sessions *s, struct session *x, uint16_t type, uint64_t which,
                          const struct session_mapping *region);
void session_pending_tell_all(struct sessions *s, struct session *x, uint16_t type,
                              const struct session_mapping *region);
/* Asks for the end of the session; text (may be NULL) is sent to the client. */
void session_end(struct sessions *s, struct session *x, enum wire_end end, int status,
                 const char *text);

/* ---- session_map.c ---------------------------------------------------------------------- */

/* Charges len_bytes to the user, maps and seals fd. Takes over fd in any case. Returns 0, or
 * negative errno with text. */
int session_map_open(struct sessions *s, struct session *x, int fd, uint64_t len_bytes,
                     struct session_mapping *m, char *text);
/* Faults in a slice. Returns 1 when all pages are there, 0 if there is more to do, or negative
 * errno with text. */
int session_map_step(struct sessions *s, struct session_mapping *m, char *text);
/* Undoes session_map_open() and session_map_step(), at any stage. */
void session_map_close(struct sessions *s, struct session *x, struct session_mapping *m);

/* Request handlers: each answers, or makes the request pending. They take over fd (-1: none). */
void session_ask_region(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd);
void session_ask_unregion(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd);
/* Continue the pending request. */
void session_go_region(struct sessions *s, struct session *x);
void session_go_unregion(struct sessions *s, struct session *x);

/* ---- session_message.c ------------------------------------------------------------------ */

/* Continues the pending request, then reads and serves new ones. */
void session_serve(struct sessions *s, struct session *x);
/* Takes a worker's answer. */
void session_heard(struct sessions *s, struct session *x, uint32_t channel,
                   const struct channel_message *m);

/* ---- session_access.c ------------------------------------------------------------------- */

/* May the session's user accept on the service, or open connections to the peer? If not, text says
 * why. */
bool session_may_listen(const struct sessions *s, const struct session *x, uint32_t service,
                        char text[SESSION_TEXT_MAX]);
bool session_may_connect(const struct sessions *s, const struct session *x, const struct addr *peer,
                         char text[SESSION_TEXT_MAX]);
/* Gives the workers their first rules, before they run. */
void session_access_start(struct sessions *s);
/* A worker has given up the rules that it had before. */
void session_access_heard(struct sessions *s);
void session_access_free(struct sessions *s);

/* ---- session_capture.c ------------------------------------------------------------------ */

void session_ask_capture(struct sessions *s, struct session *x, const struct protocol_request *q,
                         int fd);
/* Does a capture write the region? Then it cannot be dropped. */
bool session_captures_into(const struct session *x, uint32_t region);
/* Before DETACH: workers write no more copies when they have answered that. */
void session_captures_end(struct sessions *s, struct session *x);
void session_captures_free(struct sessions *s, struct session *x);

/* ---- session_port.c: as the request handlers of session_map.c ----------------------------- */

void session_ask_listen(struct sessions *s, struct session *x, const struct protocol_request *q,
                        int fd);
void session_go_listen(struct sessions *s, struct session *x);
void session_ask_unlisten(struct sessions *s, struct session *x, const struct protocol_request *q,
                          int fd);
void session_go_unlisten(struct sessions *s, struct session *x);

#endif
