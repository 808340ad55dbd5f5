/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker half of client sessions. Each host has one struct channels, owned by the host's
 * worker. For each attached session it holds the worker's end of the rings, the regions and the
 * handles.
 *
 * Control and the worker exchange messages only. The worker answers each message from control once.
 * ATTACH hands a struct channel_session to the worker. The answer to DETACH returns it, once no
 * connection of the session holds its memory.
 *
 * Invariants:
 *   owed = completions that started operations will still deliver
 *   cq_tail - cq_head + owed <= cq_entries, so a completion always has a place
 *   refs of a region = pieces of uncompleted operations in it
 * A connection's number is used only between host_connect() or host_accept() and host_conn_gone().
 * Client memory is read once, and checked before it is used.
 */
#ifndef SLUICED_CHANNEL_H
#define SLUICED_CHANNEL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ring.h>

#include "base/clock.h"
#include "client/protocol.h"
#include "host/host.h"
#include "sluiced/session/access.h"

#define CHANNEL_SUBMISSIONS 32   /* per session and call of channels_poll() */
#define CHANNEL_COMPLETIONS 64   /* per call of channels_poll() */
#define CHANNEL_MESSAGES    8    /* per call of channels_poll() */
#define CHANNEL_REAPS       32   /* handles looked at per session and call */
#define CHANNEL_STATUSES    8    /* status entries written per session and call */
#define CHANNEL_WRONG_MAX   1024 /* malformed submissions after which the session ends */
#define CHANNEL_STATUS_NS   10000000ull

/* ---- messages --------------------------------------------------------------------------- */

enum channel_message_type {
    CHANNEL_ATTACH,      /* data: struct channel_session */
    CHANNEL_DETACH,      /* id: enum wire_end */
    CHANNEL_REGION_ADD,  /* id: the region's; data, len_bytes: its memory */
    CHANNEL_REGION_DROP, /* id: the region's; answered -EBUSY while the region is in use */
    CHANNEL_LISTEN,      /* id: service */
    CHANNEL_UNLISTEN,    /* id: service */
    CHANNEL_ACCESS,      /* of no session; data: the rules from now on. Answered once the rules
                            before are not read any more */
    CHANNEL_FAULT,       /* worker to control, unasked; status: enum channel_fault */
};

enum channel_fault {
    CHANNEL_FAULT_NONE,
    CHANNEL_FAULT_SQ_INDEX,
    CHANNEL_FAULT_CQ_INDEX,
    CHANNEL_FAULT_FLOOD,
};

struct channel_message {
    uint16_t type; /* an answer has the type of the message that it answers */
    uint16_t slot; /* of the session */
    int32_t status;
    uint32_t id;
    uint32_t zero;
    void *data;
    uint64_t len_bytes;
};

static_assert(sizeof(struct channel_message) == 32 && sizeof(struct channel_message) % 4 == 0,
              "an element of an rte_ring");

/* ---- sessions on a worker --------------------------------------------------------------- */

struct channel_region {
    uint8_t *base; /* NULL: no such region */
    uint64_t len_bytes;
    uint32_t refs;
    uint32_t zero;
};

enum channel_handle_state {
    CHANNEL_HANDLE_FREE,
    CHANNEL_HANDLE_OPEN,    /* conn is this handle's connection */
    CHANNEL_HANDLE_BARE,    /* opening failed; waits for the client's CLOSE */
    CHANNEL_HANDLE_CLOSING, /* host_close() was called */
};

struct channel_handle {
    uint64_t owner; /* names the handle to the host: slot | handle << 16 | use << 32 */
    uint64_t status_seq;
    uint32_t conn;
    uint32_t outstanding; /* operations that the host has not completed */
    uint32_t close_user;
    uint16_t active_at; /* index in active[] */
    uint8_t state;      /* enum channel_handle_state */
    bool close_wanted;  /* CLOSING: the completion of CLOSE is due */
    bool failed;        /* a SEND failed for good; the port may still read its memory */
};

struct channel_session {
    /* written by control before ATTACH */
    struct protocol_channel *ring;
    struct protocol_submission *sq;
    struct protocol_completion *cq;
    struct protocol_status *statuses;
    uint32_t sq_mask, cq_mask, handle_limit;
    int wake_fd;
    uint16_t slot;
    struct access_user user;
    /* owned by the worker */
    uint32_t sq_head, cq_tail, cq_head;
    uint32_t owed;
    uint32_t wrong;     /* malformed submissions so far */
    uint32_t use;       /* counts openings of handles; part of a handle's owner */
    uint32_t n_active;  /* handles not FREE */
    uint32_t n_closing; /* handles CLOSING */
    uint32_t reap_at, status_at;
    uint64_t status_due;
    bool dirty;   /* completions to be published */
    bool faulted; /* reported to control; nothing is taken or delivered any more */
    bool ending;  /* DETACH has come */
    uint8_t end;  /* enum wire_end, if ending */
    uint8_t n_services;
    uint16_t services[PROTOCOL_SERVICES_MAX];
    struct channel_region regions[PROTOCOL_REGIONS_MAX];
    uint16_t active[PROTOCOL_HANDLES_MAX];
    struct channel_handle handles[PROTOCOL_HANDLES_MAX];
};

struct channels {
    struct host *host;
    struct clock clock;
    struct rte_ring *in, *out; /* of struct channel_message; from and to control */
    uint32_t n_attached;
    uint32_t max_sessions;
    const struct access *access;       /* which peers users may connect to; NULL: all */
    const struct wakeup *wakeup;       /* used by control to wake the worker */
    struct channel_session **attached; /* the first n_attached are in use */
    struct channel_session **slots;    /* by slot, NULL: not attached */
    struct host_completion batch[CHANNEL_COMPLETIONS];
};

/*
 * A cookie: the value that the host keeps for an operation, and returns with its completions. Bits
 * 0-31: the number that the client gave the operation. Bits 32-46 and 48-62: id + 1 of the regions
 * of its first and second piece; 0: none. Bit 47: a provisional completion comes first, and
 * releases the first region.
 */
#define CHANNEL_COOKIE_PROVISIONAL (1ull << 47)

static_assert(PROTOCOL_REGIONS_MAX < 1u << 15, "fits in a cookie");

static inline uint64_t channel_cookie(uint32_t user, uint32_t region0, uint32_t region1,
                                      bool provisional)
{
    return (uint64_t)region1 << 48 | (provisional ? CHANNEL_COOKIE_PROVISIONAL : 0) |
           (uint64_t)region0 << 32 | user;
}

static inline uint32_t channel_cookie_region(uint64_t cookie, int i)
{
    return cookie >> (i == 0 ? 32 : 48) & 0x7fff;
}

/* ---- control side (channel.c) ----------------------------------------------------------- */

/* NULL: no memory. */
struct channels *channels_create(struct host *h, uint32_t max_sessions);
void channels_destroy(struct channels *c);
void channels_tell(struct channels *c, const struct channel_message *m);
/* Wakes the worker if it sleeps. */
void channels_ring(struct channels *c);
/* Takes one answer or fault from the worker; false if there is none. */
bool channels_hear(struct channels *c, struct channel_message *m);

/* ---- worker side ------------------------------------------------------------------------ */

/* channel_submit.c: takes submissions; returns how many. */
uint32_t channel_submit(struct channels *c, struct channel_session *cs, uint64_t now);

/* channel_complete.c */
/* Answers a message from control. */
void channel_answer(struct channels *c, const struct channel_message *m, int status);
/* Reports a fault to control, which ends the session. */
void channel_fault(struct channels *c, struct channel_session *cs, enum channel_fault why);
/* Is there room for n more completions? Reports a fault if the client's index makes no sense. */
bool channel_room(struct channels *c, struct channel_session *cs, uint32_t n);
/* Writes an owed completion into the client's ring. */
void channel_deliver(struct channel_session *cs, const struct protocol_completion *e);
/* Takes completions from the host. */
uint32_t channel_completions(struct channels *c);
/* Closes the handles of an ending session. Frees closing handles whose connection is gone, and
 * completes their CLOSE. */
uint32_t channel_reap(struct channels *c, struct channel_session *cs, uint64_t now);
/* Ends connections to peers that their users may not connect to any more. */
void channel_deny(struct channels *c, struct channel_session *cs, uint64_t now);
void channel_handle_close(struct channels *c, struct channel_session *cs, uint32_t handle,
                          enum wire_end end, uint64_t now);
bool channel_handle_gone(const struct channels *c, const struct channel_handle *h);
/* Makes delivered completions visible to the client, and wakes it if it asked for that. */
void channel_publish(struct channel_session *cs);
void channel_status(struct channels *c, struct channel_session *cs, uint64_t now);
void channel_status_write(struct channels *c, struct channel_session *cs, uint32_t handle);

#endif
