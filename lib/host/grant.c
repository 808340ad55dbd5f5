/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants on the worker's side. The worker applies what control has decided. A connection that
 * begins does not wait for control. It gets, at once,
 *
 *   pool / (active + p)      p: 1 for the first newcomer of an interval; with n > 1 newcomers,
 *                            2 n rounded up to a power of two
 *
 * When the number of newcomers doubles, the grants of the earlier ones are lowered to the same
 * part. So the newcomers of one interval never have more than the pool in sum at one worker, and
 * each hears of a lower grant a few times at most. Within an interval, grants of newcomers only
 * fall; control sets them, over all workers, in the next one.
 */
#include "host/host_internal.h"

#define START_UNITS_MIN 1u /* a first burst may be this short, for many may begin at once */

static uint64_t burst_of(const struct host *h, uint64_t rate_Bps, uint64_t least, uint64_t most)
{
    uint64_t burst = grant_burst_at(rate_Bps);

    if (h->cfg.burst_bytes != 0)
        return h->cfg.burst_bytes;
    return burst < least ? least : burst > most ? most : burst;
}

uint64_t grant_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes)
{
    return burst_of(h, rate_Bps, GRANT_UNITS_MIN * unit_bytes, BURST_UNITS_MAX * unit_bytes);
}

uint64_t grant_start_burst(const struct host *h, uint64_t rate_Bps, uint64_t unit_bytes)
{
    return burst_of(h, rate_Bps, START_UNITS_MIN * unit_bytes, BURST_UNITS_MAX * unit_bytes);
}

/* Sets the share. True if the peer should hear of the grant at once; otherwise the next CNTL will
 * do. */
static bool grant_set(struct conn *c, uint64_t rate_Bps, uint64_t burst_bytes,
                      enum grant_reason why)
{
    counter_set(&c->pub.share_Bps, rate_Bps);
    counter_set(&c->pub.share_burst_bytes, burst_bytes);
    counter_set(&c->pub.share_reason, why);
    return path_grant_join(c);
}

void grant_idle(struct host *h, struct conn *c)
{
    bool alone =
        counter_get(&h->start.interval) == 0; /* until control has run, grant_wake() does nothing */

    grant_set(c, counter_get(&h->start.idle_Bps), counter_get(&h->start.idle_burst_bytes),
              alone ? GRANT_NEWCOMER : GRANT_IDLE);
}

/* Grants an equal part, but no more than control allows this connection at any time. If the path
 * limits the connection, the burst is not cut to the rate here: a sender that pauses between long
 * bursts needs long ones, and path_grant_join() cuts them to what the path takes. */
static bool part_give(struct host *h, struct conn *c, uint64_t part_Bps)
{
    const struct grant *g = &h->grants[c->index];
    uint64_t most = grant_holds(h, c) ? counter_get(&g->max_Bps) : 0;
    uint64_t rate = most != 0 && most < part_Bps ? most : part_Bps;
    uint64_t unit = counter_get(&c->pub.rx_unit_bytes);
    uint64_t least = c->path.rate.mode == PATHRATE_FREE ? START_UNITS_MIN : BURST_UNITS_MAX;

    return grant_set(c, rate, burst_of(h, rate, least * unit, BURST_UNITS_MAX * unit),
                     GRANT_NEWCOMER);
}

/* Lowers the earlier newcomers' grants to the new part, and advertises the lower grants. */
static void newcomers_lower(struct host *h, uint64_t part_Bps)
{
    for (uint32_t i = 0; i < h->newcomers.n; i++) {
        struct conn *c = &h->conns[h->newcomers.conns[i]];

        if (c->state == HOST_OPEN && counter_get(&c->pub.share_reason) == GRANT_NEWCOMER &&
            part_Bps < counter_get(&c->pub.share_Bps) && part_give(h, c, part_Bps))
            conn_want(h, c, WANT_CNTL);
    }
}

void grant_newcomer(struct host *h, struct conn *c)
{
    uint64_t interval = counter_get(&h->start.interval), parts, part_Bps;
    struct newcomers *new = &h->newcomers;

    if (interval == 0) {
        grant_idle(h, c);
        return;
    }
    if (interval != new->interval)
        *new = (struct newcomers){.conns = new->conns, .interval = interval};
    if (new->n == new->parts &&new->n < h->cfg.conns) /* no part is left for this newcomer */
        new->parts = new->parts == 0 ? 1 : 2 * new->parts;
    /* with several newcomers, only half of the parts are given out: earlier newcomers may still use
     * larger parts */
    parts = new->parts == 1 ? 1 : 2 * new->parts;
    part_Bps = counter_get(&h->start.pool_Bps) / (counter_get(&h->start.active) + parts);
    if (new->n == new->parts / 2)
        newcomers_lower(h, part_Bps);
    if (new->n < h->cfg.conns)
        new->conns[new->n++] = c->index;
    counter_set(&c->pub.woken_at, h->now);
    part_give(h, c, part_Bps);
    conn_want(h, c, WANT_CNTL);
}

void grant_wake(struct host *h, struct conn *c)
{
    if (counter_get(&c->pub.share_reason) == GRANT_IDLE)
        grant_newcomer(h, c);
}

/* A bit of a lower level is set before the bit above it. grants_apply() takes the bits in the
 * opposite order. So a bit that is set while grants_apply() runs is found then or at its next call,
 * and never lost. */
void grant_mark(struct host *h, uint32_t i)
{
    __atomic_fetch_or(&h->grants_dirty[i / 64], 1ull << (i % 64), __ATOMIC_RELEASE);
    __atomic_fetch_or(&h->grants_words[i / 4096], 1ull << (i / 64 % 64), __ATOMIC_RELEASE);
    __atomic_store_n(&h->grants_any, 1, __ATOMIC_RELEASE);
}

static void grant_apply(struct host *h, uint32_t i)
{
    struct conn *c = &h->conns[i];
    const struct grant *g = &h->grants[i];

    if (c->state != HOST_OPEN || !grant_holds(h, c))
        return;
    if (grant_set(c, counter_get(&g->rate_Bps), counter_get(&g->burst_bytes),
                  (enum grant_reason)counter_get(&g->reason)))
        conn_want(h, c, WANT_CNTL);
}

/* Takes the bits of a word. Most words have none; reading first leaves their cache line shared. */
static uint64_t bits_take(uint64_t *word)
{
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0)
        return 0;
    return __atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE);
}

void grants_apply(struct host *h)
{
    if (__atomic_load_n(&h->grants_any, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_exchange_n(&h->grants_any, 0, __ATOMIC_ACQ_REL);
    for (uint32_t i = 0; i < (h->cfg.conns + 4095) / 4096; i++)
        for (uint64_t words = bits_take(&h->grants_words[i]); words != 0; words &= words - 1) {
            uint32_t w = i * 64 + (uint32_t)__builtin_ctzll(words);

            for (uint64_t bits = bits_take(&h->grants_dirty[w]); bits != 0; bits &= bits - 1)
                grant_apply(h, w * 64 + (uint32_t)__builtin_ctzll(bits));
        }
}
