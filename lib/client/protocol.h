/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between libsluice and sluiced: fixed-size messages on a SOCK_SEQPACKET unix socket,
 * and rings in memory that the client owns and the daemon maps. No DPDK here.
 *
 * Socket: the client sends requests, HELLO first, then SESSION. The daemon answers each one once,
 * in order; only PROTOCOL_RING has no answer. The only message that is not an answer is
 * PROTOCOL_BYE, which says why the daemon ends the session.
 *
 * Session memory, one memfd (layout: protocol_layout_for()): for each channel (one per worker) a
 * submission ring and a completion ring, then one status entry per handle. Indices count entries
 * and wrap at 2^32; slot = index & (entries - 1); invariant 0 <= tail - head <= entries. Each index
 * has one writer and its own cache line. The client chooses handle numbers. A handle belongs to the
 * channel on which its CONNECT or ACCEPT was submitted, until its CLOSE has completed.
 *
 * Every submission completes once. A SEND with PROTOCOL_PROVISIONAL completes twice; the flag marks
 * the first completion. The daemon starts a submission only when its completions fit in the
 * completion ring.
 *
 * Sleeping: the daemon writes its eventfd only if the client has armed `wake`; see protocol_arm().
 * The client does not get the eventfd itself, but an epoll descriptor that watches it
 * edge-triggered: the holder of an eventfd can fill it and make it blocking, and so block a worker
 * that writes to it. A worker that goes to sleep sets `asleep`. A client that then submits
 * something tells control (RING), which wakes the worker.
 */
#ifndef SLUICE_CLIENT_PROTOCOL_H
#define SLUICE_CLIENT_PROTOCOL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define PROTOCOL_MAGIC         0x43554c53u /* "SLUC" */
#define PROTOCOL_VERSION       5
#define PROTOCOL_CHANNELS_MAX  64
#define PROTOCOL_HANDLES_MAX   1024
#define PROTOCOL_REGIONS_MAX   1024 /* per session */
#define PROTOCOL_SERVICES_MAX  16   /* per session */
#define PROTOCOL_RING_MIN      16   /* entries */
#define PROTOCOL_RING_MAX      65536
#define PROTOCOL_REQUEST_MAX   (1ull << 32) /* bytes of one SEND or RECV */
#define PROTOCOL_TEXT_MAX      200
#define PROTOCOL_COMMAND_MAX   2048  /* bytes of the line that follows COMMAND */
#define PROTOCOL_PART_MAX      16384 /* bytes of JSON that follow one answer to SHOW */
#define PROTOCOL_LINE          128   /* two cache lines: CPUs fetch them in pairs */
#define PROTOCOL_PAGE          4096
#define PROTOCOL_PEER_NAME_MAX 64 /* bytes, with the final 0 */
#define PROTOCOL_WHY_MAX       16 /* bytes, with the final 0 */

/* ---- messages on the socket ------------------------------------------------------------- */

/* Each: what the request carries -> what the answer carries. */
enum protocol_type {
    PROTOCOL_HELLO = 1, /* -> limits */
    PROTOCOL_SESSION,   /* session, with the session memfd -> the epoll descriptor */
    PROTOCOL_REGION,    /* region_bytes, with a memfd -> region id */
    PROTOCOL_UNREGION,  /* region id */
    PROTOCOL_LISTEN,    /* service */
    PROTOCOL_UNLISTEN,  /* service */
    PROTOCOL_ROUTE,     /* peer -> channel */
    PROTOCOL_SHOW,      /* what, offset (0: makes a new text) -> a part of the JSON text */
    PROTOCOL_BYE,       /* from the daemon, unasked: status and text say why it ends the session */
    PROTOCOL_COMMAND,   /* command_bytes, and the line behind the request -> text: what was done */
    PROTOCOL_RING,      /* channel: wake its worker, which has something to do; no answer */
    PROTOCOL_CAPTURE,   /* capture -> captured. Frames of a port are copied into a region until the
                           session ends (capture_ring.h). For root and the daemon's own user */
};

struct protocol_session {
    uint32_t channels;               /* as in limits */
    uint32_t sq_entries, cq_entries; /* powers of 2, at most as in limits */
    uint32_t handles;                /* at most as in limits */
    uint64_t len_bytes;              /* protocol_layout_for().total_bytes */
};

struct protocol_show {
    uint64_t offset;
    char what[32]; /* ends with 0 */
};

struct protocol_capture {
    uint32_t region_id;  /* the whole of it is used, and cannot be dropped any more */
    uint32_t port;       /* index in the list "ports" */
    uint32_t interface;  /* what the blocks say */
    uint32_t snap_bytes; /* of each frame, at most so many bytes are copied */
};

struct protocol_request {
    uint32_t magic;
    uint16_t version;
    uint16_t type; /* enum protocol_type */
    union {
        struct protocol_session session;
        struct protocol_show show;
        struct protocol_capture capture;
        uint64_t region_bytes;
        uint32_t region_id;
        uint32_t service;
        uint32_t command_bytes;
        uint32_t channel;
        uint8_t peer[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
        uint8_t bytes[56];
    } u;
};

struct protocol_limits {
    uint32_t channels;
    uint32_t sq_entries, cq_entries; /* largest, per channel */
    uint32_t handles;                /* maximum, per session */
    uint32_t regions;                /* maximum, per session */
    uint32_t depth;                  /* requests per connection and direction */
    uint64_t quota_bytes;            /* of the user, for all its sessions together; 0: none */
    uint64_t used_bytes;
};

struct protocol_part {
    uint64_t offset, total_bytes; /* where this part begins; length of the whole text */
    uint32_t len_bytes;           /* of this part, which follows the answer */
};

struct protocol_captured {
    uint64_t ring_bytes; /* ring i begins at i ring_bytes in the region */
    uint32_t rings;      /* one for each queue of the port */
};

/* magic, version, status and text have the same offsets in every version. */
struct protocol_reply {
    uint32_t magic;
    uint16_t version;
    uint16_t type;  /* type of the request, or PROTOCOL_BYE */
    int32_t status; /* 0 or negative errno */
    uint32_t zero;
    char text[PROTOCOL_TEXT_MAX]; /* ends with 0. A failure: one line with cause and cure; COMMAND:
                                     what was done */
    union {
        struct protocol_limits limits;
        struct protocol_part part;
        struct protocol_captured captured;
        uint32_t region_id;
        uint32_t channel;
        uint8_t bytes[56];
    } u;
};

static_assert(sizeof(struct protocol_request) == 64, "layout");
static_assert(sizeof(struct protocol_limits) == 40, "layout");
static_assert(sizeof(struct protocol_reply) == 16 + PROTOCOL_TEXT_MAX + 56, "layout");

/* ---- session memory --------------------------------------------------------------------- */

enum protocol_op {
    PROTOCOL_CONNECT,
    PROTOCOL_ACCEPT,
    PROTOCOL_SEND,
    PROTOCOL_RECV,
    PROTOCOL_SHUTDOWN,
    PROTOCOL_CLOSE, /* aborts an open connection; completes when its memory is released */
    PROTOCOL_LIMIT, /* sets what the application allows from now on; completes at once */
    PROTOCOL_OPS,
};

enum protocol_flag {
    PROTOCOL_GO_BACK_N = 1,   /* CONNECT: repeat by go-back-N */
    PROTOCOL_PROVISIONAL = 2, /* SEND: complete pieces[0] early; completion: is the early one */
};

struct protocol_piece {
    uint64_t offset, len; /* bytes, within the region */
    uint32_t region;      /* ignored if len is 0 */
    uint32_t zero;
};

struct protocol_connect {
    uint8_t peer[16];
    uint16_t service;
    uint16_t udp_port;    /* of the peer's host; 0: the default */
    uint32_t first_bytes; /* CONNECT: pad FIRST to an IP packet of so many */
    uint8_t zero[24];
};

/* LIMIT: user bytes a second; 0: no limit. */
struct protocol_limit {
    uint64_t tx_Bps, rx_Bps;
    uint64_t zero[4];
};

struct protocol_submission {
    uint8_t op;    /* enum protocol_op */
    uint8_t flags; /* enum protocol_flag */
    uint16_t zero;
    uint32_t handle;
    uint32_t user; /* returned in the completion */
    uint32_t zero2;
    union {
        struct protocol_piece pieces[2]; /* SEND: [0], then [1]; RECV: [0] only */
        struct protocol_connect connect; /* CONNECT; ACCEPT: service only */
        struct protocol_limit limit;
        uint64_t words[6];
    } u;
};

struct protocol_completion {
    uint64_t len; /* SEND, RECV: bytes moved */
    uint32_t user;
    uint32_t handle;
    int32_t status; /* 0 or negative errno */
    uint8_t op, flags;
    uint16_t zero;
};

/* What the daemon publishes about a handle, under a sequence lock: seq is odd during a write. */
enum protocol_word {
    PROTOCOL_TX_RATE_BPS,
    PROTOCOL_TX_BURST_BYTES,
    PROTOCOL_RX_RATE_BPS,
    PROTOCOL_RX_BURST_BYTES,
    PROTOCOL_RTT_NS,
    PROTOCOL_TX_BYTES,
    PROTOCOL_TX_UNITS,
    PROTOCOL_TX_REPEATS,
    PROTOCOL_RX_BYTES,
    PROTOCOL_RX_UNITS,
    PROTOCOL_RX_LOST,
    PROTOCOL_RX_MOMENTARY_BPS,
    PROTOCOL_UNIT_STATE, /* unit_bytes | port << 32 | state << 48 (1 waiting, 2 opening, 3 open,
                            4 closed) */
    PROTOCOL_PEER,       /* address: 16 bytes, here and in the next word */
    PROTOCOL_PEER_REST,
    PROTOCOL_PEER_NAME, /* of the peer whose key has proved the connection, here and in the next
                           words; ends with 0. "": plain, or not proved */
    /* What our sender waited for (struct sluice_stats). */
    PROTOCOL_TX_APP_LIMITED_NS = PROTOCOL_PEER_NAME + PROTOCOL_PEER_NAME_MAX / 8,
    PROTOCOL_TX_PEER_LIMITED_NS,
    PROTOCOL_TX_RATE_LIMITED_NS,
    PROTOCOL_TX_WHY, /* reason of the grant, here and in the next word; ends with 0 */
    PROTOCOL_RX_WHY = PROTOCOL_TX_WHY + PROTOCOL_WHY_MAX / 8,
    PROTOCOL_PORT_BPS = PROTOCOL_RX_WHY + PROTOCOL_WHY_MAX / 8, /* what the port carries */
    PROTOCOL_WORDS,
};

struct protocol_status {
    uint64_t seq;
    uint64_t words[PROTOCOL_WORDS];
};

#define PROTOCOL_ALIGNED __attribute__((aligned(PROTOCOL_LINE)))

struct protocol_channel {
    PROTOCOL_ALIGNED uint32_t sq_tail; /* written by the client */
    PROTOCOL_ALIGNED uint32_t sq_head; /* written by the worker */
    PROTOCOL_ALIGNED uint32_t cq_tail; /* written by the worker */
    PROTOCOL_ALIGNED uint32_t cq_head; /* written by the client */
    PROTOCOL_ALIGNED uint32_t wake;    /* set to 1 by the client, cleared by the worker */
    PROTOCOL_ALIGNED uint32_t asleep;  /* set to 1 by the worker, cleared by client and worker */
};

static_assert(sizeof(struct protocol_submission) == 64, "layout");
static_assert(sizeof(struct protocol_completion) == 24, "layout");
static_assert(sizeof(struct protocol_status) == 256, "layout");
static_assert(sizeof(struct protocol_channel) == 6 * PROTOCOL_LINE, "layout");

/* Bytes. status_offset counts from the start of session memory, sq_offset and cq_offset from the
 * start of their channel. */
struct protocol_layout {
    uint64_t channel_bytes, sq_offset, cq_offset, status_offset, total_bytes;
};

static inline uint64_t protocol_round(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static inline bool protocol_ring_ok(uint32_t entries, uint32_t most)
{
    return entries >= PROTOCOL_RING_MIN && entries <= most && (entries & (entries - 1)) == 0;
}

/* So that nothing overflows, no argument may exceed its PROTOCOL_CHANNELS_MAX, PROTOCOL_RING_MAX or
 * PROTOCOL_HANDLES_MAX. */
static inline struct protocol_layout protocol_layout_for(uint32_t channels, uint32_t sq_entries,
                                                         uint32_t cq_entries, uint32_t handles)
{
    struct protocol_layout l;

    l.sq_offset = sizeof(struct protocol_channel);
    l.cq_offset = l.sq_offset + (uint64_t)sq_entries * sizeof(struct protocol_submission);
    l.channel_bytes = protocol_round(
        l.cq_offset + (uint64_t)cq_entries * sizeof(struct protocol_completion), PROTOCOL_PAGE);
    l.status_offset = channels * l.channel_bytes;
    l.total_bytes = protocol_round(
        l.status_offset + (uint64_t)handles * sizeof(struct protocol_status), PROTOCOL_PAGE);
    return l;
}

/* ---- sleeping and waking ---------------------------------------------------------------- */

/*
 * No wake-up is lost: the client stores wake, then loads cq_tail; the worker stores cq_tail, then
 * loads wake. All four accesses are sequentially consistent, so at least one side sees the other's
 * store.
 */

/* Client: true if it may sleep, false if the ring holds a completion after all. */
static inline bool protocol_arm(struct protocol_channel *c, uint32_t cq_head)
{
    __atomic_store_n(&c->wake, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&c->cq_tail, __ATOMIC_SEQ_CST) == cq_head;
}

/* Worker: publishes completions before cq_tail. True if the client must be woken. */
static inline bool protocol_publish(struct protocol_channel *c, uint32_t cq_tail)
{
    __atomic_store_n(&c->cq_tail, cq_tail, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->wake, __ATOMIC_SEQ_CST) == 0)
        return false;
    __atomic_store_n(&c->wake, 0, __ATOMIC_SEQ_CST);
    return true;
}

/* Worker, as protocol_arm(): true if it may sleep, false if the ring holds a submission. */
static inline bool protocol_sleep(struct protocol_channel *c, uint32_t sq_head)
{
    __atomic_store_n(&c->asleep, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&c->sq_tail, __ATOMIC_SEQ_CST) == sq_head;
}

/* Client: publishes submissions before sq_tail. True if the worker must be woken. */
static inline bool protocol_submit(struct protocol_channel *c, uint32_t sq_tail)
{
    __atomic_store_n(&c->sq_tail, sq_tail, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST) == 0)
        return false;
    __atomic_store_n(&c->asleep, 0, __ATOMIC_SEQ_CST);
    return true;
}

/* ---- status entries --------------------------------------------------------------------- */

/* seq is the writer's private count: whatever a client writes to s->seq does not affect it. */
static inline void protocol_status_write(struct protocol_status *s, uint64_t *seq,
                                         const uint64_t words[PROTOCOL_WORDS])
{
    uint64_t n = *seq + 2;
    int i;

    /* Each word is released after the odd seq: a reader that sees a new word sees that seq or
     * later. */
    __atomic_store_n(&s->seq, n - 1, __ATOMIC_RELAXED);
    for (i = 0; i < PROTOCOL_WORDS; i++)
        __atomic_store_n(&s->words[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n(&s->seq, n, __ATOMIC_RELEASE);
    *seq = n;
}

/* False if a write was in progress: try again. */
static inline bool protocol_status_read(const struct protocol_status *s,
                                        uint64_t words[PROTOCOL_WORDS])
{
    uint64_t before = __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);
    int i;

    for (i = 0; i < PROTOCOL_WORDS; i++)
        words[i] = __atomic_load_n(&s->words[i], __ATOMIC_ACQUIRE);
    return (before & 1) == 0 && __atomic_load_n(&s->seq, __ATOMIC_RELAXED) == before;
}

#endif
