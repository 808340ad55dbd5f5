/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small frames that belong to no connection. The transmit walk sends them before DATA. Any station
 * may make us send them, so slots and rate are limited, and no kind can take what another
 * needs:
 *
 *   neighbours   questions of ours, and answers to ARP and ND: without these nobody reaches us.
 *                Questions are few (neighbor.h), and have slots that answers must leave free.
 *   others       echo, and answers to FIRST.
 *   handshakes   INIT, RESPONSE and COOKIE. Their rate needs no limit here: control makes few in an
 *                interval.
 *
 * Rates, by worker: answers to neighbours 1.25 MB/s, some 20 000 frames, more than the hosts of a
 * large link ask in a second; others 12.5 MB/s, 1 % of a 10 Gbit/s link: 50 000 answers to FIRST,
 * or 8000 pings of 1500 bytes. What a flood asks above these rates is not answered. So a flood
 * takes these rates from connections, and no more. Honest stations may lose answers during a flood,
 * and ask again. News of neighbours for the port's other workers (link.c) have a limit of their
 * own, with the rate of the first kind.
 */
#include <string.h>

#include "host/host_internal.h"

#define NEIGHBORS_Bps   1250000u
#define OTHERS_Bps      12500000u
#define QUESTION_SLOTS  4u     /* slots that answers leave free */
#define NEIGHBORS_BURST 4096u  /* bytes: a poll's worth of short frames */
#define OTHERS_BURST    65536u /* four pings of the longest frame */

void reply_init(struct host *h)
{
    credit_init(&h->replies[REPLY_NEIGHBORS].credit, h->cfg.hz, NEIGHBORS_Bps, NEIGHBORS_BURST,
                h->now);
    credit_init(&h->replies[REPLY_OTHERS].credit, h->cfg.hz, OTHERS_Bps, OTHERS_BURST, h->now);
    credit_init(&h->share_credit, h->cfg.hz, NEIGHBORS_Bps, NEIGHBORS_BURST, h->now);
}

static bool reply_fits(struct host *h, struct reply_queue *q, uint32_t room)
{
    if (q->n < room)
        return true;
    host_count(h, COUNT_tx_replies_full);
    return false;
}

static bool reply_allowed(struct host *h, struct reply_queue *q, uint32_t len)
{
    if (credit_open(&q->credit, h->now)) {
        credit_take(&q->credit, len);
        return true;
    }
    host_count(h, COUNT_tx_replies_limited);
    return false;
}

void reply_neighbor(struct host *h, const uint8_t *frame, uint16_t len, bool answer)
{
    struct reply_queue *q = &h->replies[REPLY_NEIGHBORS];

    if (!reply_fits(h, q, answer ? HOST_REPLIES_MAX - QUESTION_SLOTS : HOST_REPLIES_MAX) ||
        (answer && !reply_allowed(h, q, len)))
        return;
    struct rte_mbuf *m = rte_pktmbuf_alloc(h->cfg.head_pool);

    if (m == NULL) {
        host_count(h, COUNT_tx_no_mbuf);
        return;
    }
    memcpy(rte_pktmbuf_append(m, len), frame, len);
    q->m[q->n++] = m;
}

void reply_other(struct host *h, struct rte_mbuf *m)
{
    struct reply_queue *q = &h->replies[REPLY_OTHERS];

    if (m == NULL)
        return;
    if (!reply_fits(h, q, HOST_REPLIES_MAX) || !reply_allowed(h, q, m->pkt_len)) {
        rte_pktmbuf_free(m);
        return;
    }
    q->m[q->n++] = m;
}

bool reply_has_room(const struct host *h)
{
    return h->replies[REPLY_HANDSHAKES].n < HOST_REPLIES_MAX;
}

void reply_handshake(struct host *h, struct rte_mbuf *m)
{
    struct reply_queue *q = &h->replies[REPLY_HANDSHAKES];

    if (m != NULL)
        q->m[q->n++] = m;
}

uint16_t reply_take(struct host *h, struct rte_mbuf **m, uint16_t max)
{
    uint16_t sum = 0;

    for (unsigned int k = 0; k < REPLY_KINDS; k++) {
        struct reply_queue *q = &h->replies[k];
        uint32_t n = RTE_MIN((uint32_t)(max - sum), q->n);

        memcpy(m + sum, q->m, n * sizeof(struct rte_mbuf *));
        memmove(q->m, q->m + n, (q->n - n) * sizeof(struct rte_mbuf *));
        q->n -= n;
        sum = (uint16_t)(sum + n);
    }
    return sum;
}

bool reply_waits(const struct host *h)
{
    uint32_t n = 0;

    for (unsigned int k = 0; k < REPLY_KINDS; k++)
        n += h->replies[k].n;
    return n > 0;
}

void reply_drop(struct host *h)
{
    for (unsigned int k = 0; k < REPLY_KINDS; k++)
        rte_pktmbuf_free_bulk(h->replies[k].m, h->replies[k].n);
}
