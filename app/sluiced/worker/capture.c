/* SPDX-License-Identifier: BSD-3-Clause */
/* See capture.h. */
#include "sluiced/worker/capture.h"

#include <string.h>
#include <time.h>

#include "common/clock.h"

#define CLOCK_TRIES 4

/* Options of a block, and their values [PCAPNG, 4.3]. */
enum {
    OPTION_FLAGS = 2,
    OPTION_DROPPED = 4,
    OPTION_QUEUE = 6,
    FLAG_IN = 1,
    FLAG_OUT = 2,
};

struct option32 {
    uint16_t code, len_bytes;
    uint32_t value;
};

struct option64 {
    uint16_t code, len_bytes;
    uint32_t value[2]; /* in memory order: blocks are aligned to 4 bytes only */
};

/* ---- blocks ------------------------------------------------------------------------------ */

static uint32_t round4(uint32_t n)
{
    return (n + 3) & ~3u;
}

/* The place of a block of len bytes at *e, which moves on if the ring's end is too near; NULL:
 * there is no room. An index of the client that makes no sense leaves no room, either. */
static uint8_t *block_place(struct capture_queue *c, struct capture_end *e, uint32_t len)
{
    uint64_t used = e->tail - __atomic_load_n(&c->ring->head, __ATOMIC_ACQUIRE);
    uint64_t left = c->size_bytes - e->at_bytes;

    if (used > c->size_bytes || len > c->size_bytes - used)
        return NULL;
    if (len > left) {
        if (len > c->size_bytes - used - RTE_MIN(left, c->size_bytes - used))
            return NULL;
        if (left >= CAPTURE_BLOCK_MIN)
            memset(c->data + e->at_bytes, 0, sizeof(uint32_t)); /* CAPTURE_PAD */
        e->tail += left;
        e->at_bytes = 0;
    }
    return c->data + e->at_bytes;
}

static uint8_t *put32(uint8_t *to, uint16_t code, uint32_t value)
{
    const struct option32 o = {code, sizeof o.value, value};

    memcpy(to, &o, sizeof o);
    return to + sizeof o;
}

static uint8_t *put64(uint8_t *to, uint16_t code, uint64_t value)
{
    struct option64 o = {.code = code, .len_bytes = sizeof o.value};

    memcpy(o.value, &value, sizeof o.value);
    memcpy(to, &o, sizeof o);
    return to + sizeof o;
}

static uint8_t *put_frame(uint8_t *to, const struct rte_mbuf *m, uint32_t len)
{
    const uint32_t pad = round4(len) - len;

    while (len > 0 && m != NULL) {
        uint32_t n = RTE_MIN(len, (uint32_t)m->data_len);

        memcpy(to, rte_pktmbuf_mtod(m, const void *), n);
        to += n;
        len -= n;
        m = m->next;
    }
    memset(to, 0, len + pad);
    return to + len + pad;
}

/* Writes a block for the frame at *e, or counts it there as dropped. */
static void block_write(struct capture_queue *c, struct capture_end *e, const struct rte_mbuf *m,
                        uint32_t flag, uint64_t time_ns)
{
    uint32_t captured = RTE_MIN(m->pkt_len, c->snap_bytes);
    uint32_t len =
        (uint32_t)(sizeof(struct capture_block) + round4(captured) + 2 * sizeof(struct option32) +
                   (e->missing > 0 ? sizeof(struct option64) : 0) + 2 * sizeof(uint32_t));
    uint8_t *at = block_place(c, e, len), *to = at;
    const struct capture_block b = {
        CAPTURE_PACKET,    len,      c->interface, (uint32_t)(time_ns >> 32),
        (uint32_t)time_ns, captured, m->pkt_len};

    if (at == NULL) {
        e->dropped++;
        e->missing++;
        return;
    }
    memcpy(to, &b, sizeof b);
    to = put_frame(to + sizeof b, m, captured);
    to = put32(to, OPTION_FLAGS, flag);
    to = put32(to, OPTION_QUEUE, c->queue);
    if (e->missing > 0)
        to = put64(to, OPTION_DROPPED, e->missing);
    memset(to, 0, sizeof(uint32_t)); /* the end of the options */
    memcpy(to + sizeof(uint32_t), &len, sizeof len);
    e->missing = 0;
    e->tail += len;
    e->at_bytes += len;
    if (e->at_bytes == c->size_bytes)
        e->at_bytes = 0;
}

/* ---- the worker -------------------------------------------------------------------------- */

/* Writes blocks for n frames, and remembers the ring's end behind each. */
static void frames_copy(struct capture_queue *c, struct rte_mbuf *const *m, uint16_t n,
                        uint32_t flag, uint64_t now)
{
    const struct capture_clock *clock = c->clock;
    uint64_t time_ns =
        clock_ns(&clock->clock, now) + __atomic_load_n(&clock->ahead_ns, __ATOMIC_RELAXED);
    struct capture_end e = c->end;

    for (uint16_t i = 0; i < n; i++) {
        block_write(c, &e, m[i], flag, time_ns);
        c->offered[i] = e;
    }
}

/* Makes the first n of these frames visible. */
static void frames_show(struct capture_queue *c, uint16_t n)
{
    if (n == 0)
        return;
    c->end = c->offered[n - 1];
    c->frames += n;
    __atomic_store_n(&c->ring->dropped, c->end.dropped, __ATOMIC_RELAXED);
    __atomic_store_n(&c->ring->tail, c->end.tail, __ATOMIC_RELEASE);
}

static struct capture_queue *capture_next(const struct capture_queue *c)
{
    return __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);
}

void capture_rx(struct capture_queue *first, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    for (struct capture_queue *c = first; c != NULL; c = capture_next(c)) {
        frames_copy(c, m, n, FLAG_IN, now);
        frames_show(c, n);
    }
}

void capture_tx(struct capture_queue *first, struct rte_mbuf *const *m, uint16_t n, uint64_t now)
{
    for (struct capture_queue *c = first; c != NULL; c = capture_next(c))
        frames_copy(c, m, n, FLAG_OUT, now);
}

void capture_tx_done(struct capture_queue *first, uint16_t sent)
{
    for (struct capture_queue *c = first; c != NULL; c = capture_next(c))
        frames_show(c, sent);
}

/* ---- control ----------------------------------------------------------------------------- */

void capture_queue_init(struct capture_queue *c, void *memory, uint64_t ring_bytes)
{
    c->ring = memory;
    c->data = (uint8_t *)memory + sizeof *c->ring;
    c->size_bytes = ring_bytes - sizeof *c->ring;
    memset(c->ring, 0, sizeof *c->ring);
}

void capture_add(struct capture_queue **list, struct capture_queue *c)
{
    c->next = *list;
    __atomic_store_n(list, c, __ATOMIC_RELEASE);
}

void capture_remove(struct capture_queue **list, struct capture_queue *c)
{
    while (*list != c)
        list = &(*list)->next;
    __atomic_store_n(list, c->next, __ATOMIC_RELEASE);
}

void capture_clock_set(struct capture_clock *c)
{
    uint64_t best = UINT64_MAX, ahead_ns = 0;

    /* The thread may lose its core between the two clocks: the shortest of some readings counts. */
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t before = clock_now(), took;
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        took = clock_now() - before;
        if (took >= best)
            continue;
        best = took;
        ahead_ns = (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec -
                   clock_ns(&c->clock, before + took / 2);
    }
    __atomic_store_n(&c->ahead_ns, ahead_ns, __ATOMIC_RELAXED);
}
