/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP port that a connection is opened from. The connection's packets carry this port in both
 * directions, as source or destination. So the port decides which queue, link and path they take,
 * of those that are chosen by a hash of addresses and ports.
 *
 * If it is known how the port chooses a queue, each connection takes the next UDP port of the range
 * whose answers come to the queue of its own worker. How the peer's port, a link aggregate or a
 * router hashes the UDP port is not known. UDP ports are taken in turn, not at random: hashes of
 * this kind are linear or nearly so (Toeplitz, CRC, exclusive or). Such a hash spreads 2^k
 * successive numbers evenly over a table with that many entries, except for unlucky keys.
 */
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_thash.h>

#include "host/host_internal.h"

/* UDP ports tried for each worker. If a table names all workers equally often, e^-16 of the
 * searches find none. */
#define SOURCE_TRIES 16u

/* Writes the words of an address in the order in which they are hashed; returns how many. */
static uint32_t addr_words(uint32_t *words, const struct addr *a)
{
    uint32_t n = addr_is_v4(a) ? 1 : 4;

    memcpy(words, a->b + sizeof a->b - n * sizeof *words, n * sizeof *words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = rte_be_to_cpu_32(words[i]);
    return n;
}

/* Does the port give the answers to this route to our worker? True if that is not known. */
static bool answers_land(const struct host *h, const struct frame_route *r)
{
    const struct host_rss *rss = h->cfg.rss;
    uint32_t tuple[RTE_THASH_V6_L4_LEN], n;

    if (h->cfg.workers == 1 || rss == NULL || rss->reta_size == 0 ||
        !(addr_is_v4(&r->src) ? rss->udp4 : rss->udp6))
        return true;
    n = addr_words(tuple, &r->dst);
    n += addr_words(tuple + n, &r->src);
    tuple[n++] = (uint32_t)r->dport << 16 | r->sport;
    return rss->reta[rte_softrss(tuple, n, rss->key) % rss->reta_size] == h->cfg.worker;
}

void source_choose(struct host *h, struct frame_route *r)
{
    uint32_t n = h->cfg.source_last - h->cfg.source_first + 1u;
    uint32_t tries = RTE_MIN(n, SOURCE_TRIES * h->cfg.workers);

    r->sport = h->cfg.udp_port;
    if (h->cfg.source_first == 0)
        return;
    do {
        r->sport = (uint16_t)(h->cfg.source_first + h->source_next);
        h->source_next = (h->source_next + 1) % n;
    } while (!answers_land(h, r) && --tries > 0);
}

bool source_takes(struct host *h, const struct frame *f, const struct wire_header *w)
{
    const struct conn *c;

    if (h->cfg.source_first == 0 || f->dport < h->cfg.source_first ||
        f->dport > h->cfg.source_last || (w->flags & WIRE_EARLY)) /* openers get no EARLY packets */
        return false;
    if (wire_is_handshake(w->type)) /* an answer to an INIT, which a connection's port sent */
        return h->cfg.security != HOST_SECURITY_NONE;
    if (table_key_worker(h, w->key) != h->cfg.worker)
        return !h->given && table_key_worker(h, w->key) < h->cfg.workers;
    c = table_by_key(h, w->key);
    return c != NULL && c->route.sport == f->dport;
}
