/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sluice packets, the payload of UDP (doc/protocol.md): bytes -> checked view, view -> bytes. All
 * fields are big-endian on the wire and in host order here. Only lib/wire reads or writes packet
 * bytes. The sender of a packet is the host that sent it, also when that host receives the data.
 *
 * Every packet starts with 16 bytes:
 *   0  version:4 type:4      1  flags          2  path id       3  reserved, 0
 *   4  association (u32; wire/assoc.h): 0 none; otherwise a trailer with a tag ends the packet
 *   8  key (u64)
 *
 * A parse checks lengths before fields, and every limit of wire/limits.h. Each failure has a
 * verdict, and each verdict has a counter. Nothing here asserts on packet contents.
 */
#ifndef SLUICE_WIRE_PACKET_H
#define SLUICE_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/limits.h"

enum wire_type {
    WIRE_FIRST = 1, /* opens a connection; DATA may follow without waiting */
    WIRE_DATA = 2,  /* one unit of one request */
    WIRE_CNTL = 3,  /* state of both halves of its sender: grant, ACK, NAK, posted, closing */
    WIRE_RCNTL = 4, /* a router on the path limits rate and burst */
    /* wire/assoc.h */
    WIRE_INIT = 5,     /* asks for an association */
    WIRE_RESPONSE = 6, /* answers INIT */
    WIRE_COOKIE = 7,   /* answers INIT, if the host is under load: INIT shall show its address */
};

enum wire_flag {
    WIRE_SREQ = 0x01,   /* answer with CNTL now */
    WIRE_DREQ = 0x02,   /* answer with CNTL once all up to here is placed or found missing */
    WIRE_WCLOSE = 0x04, /* sending ends. DATA: this is the last unit; CNTL: see close_request */
    WIRE_RCLOSE = 0x08, /* receiving ends: all up to WCLOSE is placed, or the reader gave up */
    WIRE_END = 0x10,    /* the connection is over: last step of a close, or an abort */
    WIRE_PACK = 0x20,   /* DATA: the last unit before a copied tail, asks for a provisional ACK;
                           CNTL: is a provisional ACK */
    WIRE_EARLY = 0x40,  /* the key is the sender's own: it does not know its peer's key yet */
    WIRE_REPEAT = 0x80, /* DATA: this unit was sent before (for probes and captures) */
};

/* Why a packet is not accepted; WIRE_OK is 0. */
enum wire_verdict {
    WIRE_OK,
    WIRE_SHORT, /* ends inside its header */
    WIRE_BAD_VERSION,
    WIRE_BAD_TYPE,
    WIRE_BAD_SECURITY, /* names an association, but its type is never sealed, or the host has no
                          keys */
    WIRE_BAD_FLAGS,    /* a flag that this type may not carry */
    WIRE_BAD_FIELD,    /* a field beyond its limits */
    WIRE_BAD_LENGTH,   /* payload disagrees with unit, unit size and request length */
    WIRE_VERDICTS,
};

#define WIRE_HEADER_BYTES       16
#define WIRE_DATA_BYTES         56  /* common header included, payload excluded */
#define WIRE_CNTL_BYTES         176 /* without spans and refusals */
#define WIRE_SPAN_BYTES         16
#define WIRE_REFUSED_BYTES      8
#define WIRE_FIRST_BYTES        192 /* padded, so that an answer without spans is no larger */
#define WIRE_RCNTL_BYTES        40
#define WIRE_RCNTL_PROVEN_BYTES 48
#define WIRE_TRAILER_BYTES      24 /* behind a sealed packet: number (u64), tag */
#define WIRE_CNTL_MAX_BYTES                                                                        \
    (WIRE_CNTL_BYTES + WIRE_SPANS_MAX * WIRE_SPAN_BYTES + WIRE_REFUSED_MAX * WIRE_REFUSED_BYTES)

/* Capabilities, announced in FIRST and CNTL. */
enum wire_capability {
    WIRE_CAP_GO_BACK_N = 0x01, /* this connection recovers by go-back-N (the opener decides) */
};

struct wire_header {
    enum wire_type type;
    uint8_t flags;        /* enum wire_flag */
    uint8_t path_id;      /* 0: a connection has one path so far */
    uint32_t association; /* the receiver's number of it; 0: the packet is not sealed */
    uint64_t key;         /* the peer's key, or with WIRE_EARLY that of the packet's sender */
};

/*
 * FIRST, from byte 16:
 *  16 initial_request u32   20 unit_max u32        24 service u16      26 capabilities u16
 *  28 ahead u32             32 rate_req u64        40 burst_req u64    48 time u64
 *  56 cookie u64            64 silence_ms u32      68 answer_request u32
 *  72 .. 191 zero
 * The header's key is the opener's own (WIRE_EARLY is set): packets to the opener must carry it.
 */
struct wire_first {
    struct wire_header h;
    uint32_t initial_request; /* number of the first request from opener to acceptor */
    uint32_t answer_request;  /* number of the first request from acceptor to opener */
    uint32_t unit_max;        /* largest unit the opener can take, bytes */
    uint16_t service;         /* number of the service that is wanted */
    uint16_t capabilities;    /* enum wire_capability */
    uint32_t ahead;           /* requests that may be sent before the first CNTL arrives */
    uint64_t rate_req_Bps;    /* rate and burst in use until the first CNTL arrives */
    uint64_t burst_req_bytes;
    uint64_t time_ns;    /* the opener's clock, echoed by CNTL */
    uint64_t cookie;     /* from a CNTL that asked for it, else 0 */
    uint32_t silence_ms; /* the opener gives up after this long without a packet */
};

/*
 * DATA, from byte 16:
 *  16 packet u64   24 time u64   32 request u32   36 unit u32   40 request_len u64
 *  48 unit_bytes u32   52 cntl_seen u32   56 payload
 * Unit u holds bytes [u * unit_bytes, min(request_len, (u + 1) * unit_bytes)) of the request; a
 * request of 0 bytes has one unit of 0 bytes. A parse accepts only exactly that payload_len.
 */
struct wire_data {
    struct wire_header h;
    uint64_t packet;      /* packet number, per connection and direction; never reused */
    uint64_t time_ns;     /* time of sending, by the sender's clock */
    uint32_t request;     /* request number */
    uint32_t unit;        /* unit number */
    uint64_t request_len; /* bytes, the same in all units of a request */
    uint32_t unit_bytes;  /* the same in all units of a request */
    uint32_t cntl_seen;   /* newest seq of a CNTL that the sender has seen; 0: none */
    uint32_t payload_len; /* parse: from UDP's length; put: ignored */
};

/* A run of missing units: positions [first, end) (base/seq.h). */
struct wire_span {
    uint64_t first;
    uint64_t end;
};

enum wire_refusal {
    WIRE_REFUSED_TOO_LONG = 1, /* the posted buffer is shorter than the request */
};

struct wire_refused {
    uint32_t request;
    uint16_t reason; /* enum wire_refusal */
};

/* Why a connection ended (CNTL with WIRE_END). */
enum wire_end {
    WIRE_END_NONE = 0,     /* the normal close */
    WIRE_END_ABORT = 1,    /* the application gave up, or died */
    WIRE_END_NOBODY = 2,   /* no application listens for the service */
    WIRE_END_SILENCE = 3,  /* the peer was silent for too long */
    WIRE_END_PROTOCOL = 4, /* versions or capabilities do not match */
    WIRE_END_SHUTDOWN = 5, /* the daemon is stopping */
    WIRE_ENDS,
};

/*
 * CNTL, from byte 16:
 *  16 own_key u64        24 seq u32           28 cntl_seen u32
 *  32 rate u64           40 burst u32         44 reason u16 (of the grant)   46 occupancy u8
 *  47 refused count u8   48 peak u64
 *  56 ack u64            64 posted u32        68 close_request u32
 *  72 sent u64           80 backlog u64       88 received u64
 *  96 time u64          104 echo u64         112 echo_held u32     116 unit_max u32
 * 120 initial_request u32  124 capabilities u16  126 end u16
 * 128 ecn_ce u32        132 ecn_ect u32      136 lost u64
 * 144 cookie u64        152 spans count u8   153 zero u8  154 zero u16  156 silence_ms u32
 * 160 hop_rate u64      168 hop_burst u32    172 hop_expiry_ms u16  174 hop_count u16
 * 176 spans, 16 bytes each {first u64, end u64}, then refused, 8 bytes each
 *     {request u32, reason u16, zero u16}
 * Routers may rewrite bytes 160-175, and only to lower limits; authentication does not cover them.
 */
struct wire_cntl {
    struct wire_header h;
    uint64_t own_key;   /* key of the host that sent this CNTL, for packets to that host */
    uint32_t seq;       /* CNTL sequence number, from 1; an older CNTL is ignored */
    uint32_t cntl_seen; /* newest seq seen from the peer; 0: none */
    /* as a receiver */
    uint64_t rate_Bps;        /* grant, payload bytes */
    uint32_t burst_bytes;     /* grant; 0: no limit */
    uint16_t reason;          /* enum grant_reason: the reason for this grant */
    uint8_t occupancy;        /* level of the posted buffers, 0-255 */
    uint64_t peak_Bps;        /* peak rate inside a burst; 0: none */
    uint64_t ack;             /* every position before this one has been placed */
    uint32_t posted;          /* requests before this number have a receive buffer */
    uint32_t unit_max;        /* bytes: largest unit that the sender of this CNTL can take */
    uint64_t received;        /* packets received so far, duplicates included */
    uint64_t lost;            /* packet numbers found missing so far */
    uint32_t ecn_ce, ecn_ect; /* packets received with CE, with ECT */
    /* as a sender */
    uint64_t sent;            /* every position before this one has been sent once */
    uint64_t backlog_bytes;   /* hint: bytes submitted and not sent yet */
    uint32_t close_request;   /* with WIRE_WCLOSE: number after the last request */
    uint32_t initial_request; /* number of the first request that this CNTL's sender sends */
    uint16_t capabilities;
    uint16_t end; /* with WIRE_END: enum wire_end */
    /* clocks */
    uint64_t time_ns;      /* when this CNTL was sent, by its sender's clock */
    uint64_t echo_ns;      /* newest time_ns seen from the peer; 0: none */
    uint32_t echo_held_ns; /* how long ago echo_ns was received */
    uint32_t silence_ms;
    uint64_t cookie; /* nonzero: send FIRST again with this cookie */
    /* routers */
    uint64_t hop_rate_Bps; /* 0: no hop limits */
    uint32_t hop_burst_bytes;
    uint16_t hop_expiry_ms;
    uint16_t hop_count; /* routers that wrote limits */
    uint8_t span_count, refused_count;
    struct wire_span spans[WIRE_SPANS_MAX]; /* missing units, ascending */
    struct wire_refused refused[WIRE_REFUSED_MAX];
};

/*
 * RCNTL, from byte 16: 16 rate u64   24 burst u32   28 expiry_ms u16   30 hop u16   32 time u64
 * For a sealed connection, also: 40 proof u64
 */
struct wire_rcntl {
    struct wire_header h;
    uint64_t rate_Bps;
    uint32_t burst_bytes;
    uint16_t expiry_ms; /* > 0: the limit ends after this long */
    uint16_t hop;       /* which router; for display only */
    uint64_t time_ns;   /* the router's clock: only newer RCNTL apply */
    bool proven;        /* the packet has a proof */
    uint64_t proof;     /* wire_parse_proof() of a CNTL that the router has seen lately */
};

/* Parses the common header alone, to find the connection: len bytes at p. */
enum wire_verdict wire_parse_header(const uint8_t *p, uint32_t len, struct wire_header *h);

/*
 * Each parses one packet type, header included, of len bytes. All of it must be contiguous at p,
 * except for the payload of DATA: there head_len bytes are contiguous, and the rest may lie in
 * other segments.
 */
enum wire_verdict wire_parse_first(const uint8_t *p, uint32_t len, struct wire_first *out);
enum wire_verdict wire_parse_data(const uint8_t *p, uint32_t head_len, uint32_t len,
                                  struct wire_data *out);
enum wire_verdict wire_parse_cntl(const uint8_t *p, uint32_t len, struct wire_cntl *out);
enum wire_verdict wire_parse_rcntl(const uint8_t *p, uint32_t len, struct wire_rcntl *out);

/* Writes a router's limits into a CNTL that passes the router (one that wire_parse_cntl() accepts).
 * A lower limit that is already there stays. burst_bytes 0: the router does not limit the burst.
 * The caller updates the UDP checksum. */
void wire_lower_cntl(uint8_t *p, uint64_t rate_Bps, uint32_t burst_bytes, uint16_t expiry_ms);

/* Writes a new time of sending into a DATA packet. The caller updates the UDP checksum. */
void wire_stamp_data(uint8_t *p, uint64_t time_ns);

/* Each writes one packet (h.type is ignored: the function sets it). Returns the bytes written. */
uint32_t wire_put_first(uint8_t *p, const struct wire_first *v);
uint32_t wire_put_data(uint8_t *p, const struct wire_data *v);
uint32_t wire_put_cntl(uint8_t *p, const struct wire_cntl *v);
uint32_t wire_put_rcntl(uint8_t *p, const struct wire_rcntl *v);

/* Units of a request: ceil(request_len / unit_bytes), at least 1. */
static inline uint64_t wire_units(uint64_t request_len, uint32_t unit_bytes)
{
    return request_len == 0 ? 1 : (request_len + unit_bytes - 1) / unit_bytes;
}

/* Names for people and counters, e.g. "bad_length", "nobody". */
const char *wire_verdict_name(enum wire_verdict v);
const char *wire_end_name(enum wire_end e);

#endif
