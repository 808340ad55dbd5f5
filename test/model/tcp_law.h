/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a TCP sender (tcp.h) and a congestion law. The sender knows which segments
 * came, which are lost, and how fast they are delivered. The law decides how many may be in flight,
 * and how fast they may be sent.
 *
 *   event       when                                              in this order
 *   rtt         a segment came that was sent once: it was timed   for each such segment, then
 *   lost        a segment is taken for lost                       for each such segment, then
 *   recovered   all that was lost is repaired                     then
 *   recovery    the first losses since then were seen             then
 *   ack         an acknowledgement has been taken                 once
 *   timeout     the timer ran out: `lost` for all in flight, then this
 *   sent        a segment is sent, again or not
 *
 * After each event the law has set cwnd and pace_sps. Laws: cubic_law (cubic_law.c), bbr_law
 * (bbr.h), copa_law (copa.h). Owned by one thread.
 */
#ifndef SLUICE_MODEL_TCP_LAW_H
#define SLUICE_MODEL_TCP_LAW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/bbr.h"
#include "model/copa.h"
#include "model/cubic.h"
#include "model/delivery.h"

enum tcp_state { TCP_OPEN, TCP_RECOVERY, TCP_TIMED_OUT };

enum tcp_law_kind { TCP_CUBIC, TCP_BBR, TCP_COPA, TCP_LAWS };

struct tcp_law_config {
    double cwnd_first; /* segments */
    uint64_t now_ns;
    uint64_t seed;   /* of the law's draws */
    bool no_hystart; /* CUBIC */
};

struct tcp_timed {
    uint64_t now_ns, rtt_ns;
    uint64_t una, nxt; /* first segment not acknowledged, next to be sent */
};

struct tcp_lost {
    uint64_t segment, now_ns;
    const struct delivery_mark *mark; /* of its last transmission */
    const struct delivery *delivery;  /* it counts this loss already */
};

struct tcp_ack {
    uint64_t now_ns;
    uint64_t una, nxt;  /* after it */
    uint32_t delivered; /* segments that have come, by it */
    uint32_t lost;      /* segments that are taken for lost because of it */
    uint64_t in_flight; /* segments, after it */
    uint64_t delivered_ever;
    uint64_t srtt_ns; /* 0: none yet */
    uint64_t rtt_ns;  /* the shortest that it timed; UINT64_MAX: none */
    enum tcp_state state;
    bool cwnd_limited; /* cwnd was full at some time since the acknowledgement before */
    struct delivery_sample sample;
};

/* CUBIC, with proportional rate reduction (RFC 6937) for the window while losses are repaired. */
struct cubic_tcp {
    struct cubic window;
    struct {
        uint64_t delivered, sent, in_flight;
    } reduction;
};

struct tcp_law;

struct tcp_law_ops {
    const char *name;
    void (*init)(struct tcp_law *l, const struct tcp_law_config *cfg);
    void (*rtt)(struct tcp_law *l, const struct tcp_timed *timed);
    void (*lost)(struct tcp_law *l, const struct tcp_lost *lost);
    void (*recovered)(struct tcp_law *l, enum tcp_state from);
    void (*recovery)(struct tcp_law *l, const struct tcp_ack *ack);
    void (*ack)(struct tcp_law *l, const struct tcp_ack *ack);
    /* `from`: the state before. */
    void (*timeout)(struct tcp_law *l, enum tcp_state from);
    void (*sent)(struct tcp_law *l);
};

struct tcp_law {
    const struct tcp_law_ops *ops;
    double cwnd;     /* segments */
    double pace_sps; /* segments a second; 0: as fast as cwnd lets them go */
    bool restrained; /* the law sends less than the path might take, on purpose */
    union {
        struct cubic_tcp cubic;
        struct bbr bbr;
        struct copa copa;
    };
};

extern const struct tcp_law_ops cubic_law;

void tcp_law_init(struct tcp_law *l, enum tcp_law_kind kind, const struct tcp_law_config *cfg);
/* "cubic", "bbr", "copa". */
const char *tcp_law_name(enum tcp_law_kind kind);
/* False if no law has that name. */
bool tcp_law_find(const char *name, enum tcp_law_kind *kind);

#endif
