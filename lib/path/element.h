/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An element of a path, and the two moves that a path is made of: element_put() brings a packet to
 * an element at the packet's own time, element_pass() sends it on. Both exist for bursts as well: a
 * burst has the same effect as its packets one after the other, but is faster with the usual
 * elements.
 *
 * Invariants: an element sees its packets in the order of their times. When a packet arrives at t,
 * all packets that were due up to and including t have left. in = out + dropped + queued - copied.
 *
 * Each kind of element has its own struct, which begins with struct element. The params that the
 * spec gives an element are read-only and shared by the elements of all flows. A change ("at 10s
 * ...") replaces the params as a whole.
 */
#ifndef SLUICE_PATH_ELEMENT_H
#define SLUICE_PATH_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_malloc.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/rng.h"
#include "path/fifo.h"
#include "path/path.h"
#include "path/spec.h"

struct element;
struct stage;

struct element_kind {
    const char *name;
    bool speaks;         /* a change of params may make an element send packets */
    size_t bytes;        /* size of an element's struct */
    size_t params_bytes; /* size of an element's params, zeroed before parse() */
    /* Reads what follows the element's name. Returns 0, or an error kept in s. */
    int (*parse)(struct spec *s, void *params);
    /* True if an element with these params treats each packet of a flow in the same way whatever
     * other flows send. NULL: no element of this kind does. */
    bool (*apart)(const void *params);
    /* Frees what parse() allocated inside params. This and the functions below may be NULL, except
     * for arrive(). */
    void (*forget)(void *params);
    /* Allocates what the element needs. Returns 0 or -ENOMEM; fini() is called even after
     * -ENOMEM. */
    int (*init)(struct element *e);
    void (*fini)(struct element *e); /* also frees the packets that the element holds */
    void (*arrive)(struct element *e, struct path_packet *p);
    /* Like arrive(), for n packets in the order of their times; params do not change between them.
     * Must itself call element_run() before a packet that must find others gone. May overwrite the
     * array p. */
    void (*arrive_burst)(struct element *e, struct path_packet *p, uint32_t n);
    /* Releases all packets due up to and including `until`, each at its own time; stops earlier if
     * element_sated(). Sets e->due. */
    void (*run)(struct element *e, uint64_t until);
    /* To be called when e->params have replaced `old` at the time `at`. */
    void (*change)(struct element *e, const void *old, uint64_t at);
};

/* seq numbers for each arriving packet: also for its copies, and for what an element sends of its
 * own right behind it. Where flows are joined, packets of one time leave in the order of these. */
#define PATH_SEQ_STEP 128u
_Static_assert((uint64_t)PATH_PACKETS_MAX *PATH_SEQ_STEP <= 1ull << 31,
               "the order of packets that are held survives the wrap of seq");
#define ELEMENT_BURST 32u

/* The whole path, as its elements see it. */
struct path {
    struct path_config cfg;
    struct clock clock;
    struct path_counts counts;
    struct store store;
    struct fifo out;     /* packets that have left the last element, by time */
    uint32_t out_wanted; /* run() of `top` stops when `out` holds so many */
    /* The element that path_run() itself runs now; NULL: none. Packets that leave it may make other
     * elements run, too; `top` stays the same. */
    const struct element *top;
    uint64_t now;
    /* `seq` of the next packet that arrives. The numbers after it, up to that of the arrival that
     * follows, are for copies and for packets made by hops. */
    uint32_t seq;
    struct chain *chain;
    struct element *first;  /* NULL: there is none, the path is a wire */
    struct element **order; /* upstream before downstream */
    uint32_t n;
};

struct element {
    /* fields that every packet touches */
    const struct element_kind *kind;
    const void *params;
    struct element *next; /* where packets go; NULL: out of the path */
    struct path *path;
    uint64_t due;       /* when run() has something to do; TIME_NEVER: no time known */
    uint64_t change_at; /* when params change next */
    uint64_t held_at;   /* when the last packet that waits here arrived */
    /* what becomes of an arrival does not depend on what waits: no run() before it */
    bool blind;
    struct path_element_counts counts;
    struct rng rng;
    /* other fields */
    const struct stage *stage;
    uint32_t instance, changes_done;
    uint64_t since;                  /* when the path began */
    struct histogram *delay, *queue; /* NULL if the element never holds packets */
};

/* A stage is an element as written in the spec; elements are made from it. A change gives them new
 * params. */
struct stage_change {
    uint64_t after; /* cycles from the path's beginning */
    void *params;
    struct stage_change *next;
};

struct stage {
    const struct element_kind *kind;
    void *params;
    struct stage_change *changes; /* in the order of time */
    struct stage *next;           /* the next one in the chain */
    char *text;
    uint32_t depth, number; /* parentheses around the stage; its number in the text, from 1 */
    /* of `match` and `each`: the chains in parentheses; NULL: an empty chain, a wire */
    struct stage *branches[8];
    uint32_t n_branches;
};

/* Makes the element's changes of params ("at 10s ...") and releases its packets, both in the order
 * of time: all that are due up to and including `until`, or fewer if element_sated(). */
void element_run(struct element *e, uint64_t until);
/* Makes a packet: a copy of m, or an empty one. It counts as held. NULL if the path is full or the
 * pool is empty; drop_no_mbuf counts this. */
struct rte_mbuf *path_copy(struct path *path, const struct rte_mbuf *m);
struct rte_mbuf *path_make(struct path *path);
/* How many packets run() may release in one go, at most ELEMENT_BURST. */
static inline uint32_t element_burst(const struct element *e)
{
    uint32_t out = fifo_count(&e->path->out);

    if (e->path->top != e)
        return ELEMENT_BURST;
    if (out >= e->path->out_wanted)
        return 0;
    return RTE_MIN(e->path->out_wanted - out, ELEMENT_BURST);
}

/* True if e is the path's `top` and path_pop() has enough packets. run() of e then stops, and sets
 * e->due to the time of the first packet that still waits. */
static inline bool element_sated(const struct element *e)
{
    return element_burst(e) == 0;
}

/* Frees the mbuf of a packet that the path no longer holds. */
static inline void path_discard(struct path *path, const struct path_packet *p)
{
    counter_set(&path->counts.held_packets, path->counts.held_packets - 1);
    store_free(&path->store, p->m, p->len);
}

/* Turns a frame kept as bytes (store.h) back into an mbuf. False if the pool is empty: this is
 * counted, m is NULL, and the caller must drop the packet. */
static inline bool path_whole(struct path *path, struct path_packet *p)
{
    if (!store_has(p->m))
        return true;
    p->m = store_take(&path->store, p->m, p->len);
    if (p->m != NULL)
        return true;
    counter_add(&path->counts.drop_no_mbuf, 1);
    return false;
}

static inline void element_put(struct element *e, struct path_packet *p)
{
    if ((e->due <= p->at && !e->blind) || e->change_at <= p->at)
        element_run(e, p->at);
    counter_add(&e->counts.in_packets, 1);
    counter_add(&e->counts.in_bytes, p->len);
    e->kind->arrive(e, p);
}

/* Brings n > 0 packets, in the order of their times, to an element. */
static inline void element_put_burst(struct element *e, struct path_packet *p, uint32_t n)
{
    uint64_t bytes = 0;

    if (e->kind->arrive_burst == NULL || e->change_at <= p[n - 1].at) {
        for (uint32_t i = 0; i < n; i++)
            element_put(e, &p[i]);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        bytes += p[i].len;
    counter_add(&e->counts.in_packets, n);
    counter_add(&e->counts.in_bytes, bytes);
    e->kind->arrive_burst(e, p, n);
}

/* Brings n > 0 packets to the element `to`, or out of the path if `to` is NULL. */
static inline void path_bring(struct path *path, struct element *to, struct path_packet *p,
                              uint32_t n)
{
    if (to != NULL)
        element_put_burst(to, p, n);
    else
        for (uint32_t i = 0; i < n; i++)
            fifo_append(&path->out, &p[i]);
}

static inline void element_pass(struct element *e, struct path_packet *p)
{
    if (e->next != NULL)
        element_put(e->next, p);
    else
        fifo_append(&e->path->out, p);
}

static inline void element_pass_burst(struct element *e, struct path_packet *p, uint32_t n)
{
    if (n > 0)
        path_bring(e->path, e->next, p, n);
}

static inline void element_drop(struct element *e, const struct path_packet *p)
{
    counter_add(&e->counts.dropped, 1);
    counter_add(&e->counts.dropped_bytes, p->len);
    path_discard(e->path, p);
}

/* Counts a packet that begins to wait in the element. */
static inline void element_hold(struct element *e, const struct path_packet *p)
{
    struct path_element_counts *c = &e->counts;

    /* packets that arrive at the same time add one sample of the queue's length */
    if (p->at != e->held_at)
        histogram_add(e->queue, c->queued_packets);
    e->held_at = p->at;
    counter_add(&c->queued_packets, 1);
    counter_add(&c->queued_bytes, p->len);
    if (c->queued_packets > c->queued_packets_max)
        counter_set(&c->queued_packets_max, c->queued_packets);
    if (c->queued_bytes > c->queued_bytes_max)
        counter_set(&c->queued_bytes_max, c->queued_bytes);
}

/* Counts a packet whose wait in the element ends. The length of the wait was recorded when it
 * began. */
static inline void element_release(struct element *e, const struct path_packet *p)
{
    counter_set(&e->counts.queued_packets, e->counts.queued_packets - 1);
    counter_set(&e->counts.queued_bytes, e->counts.queued_bytes - p->len);
}

/* Counts a packet whose wait in the element ends, and records the length of the wait. */
static inline void element_unhold(struct element *e, const struct path_packet *p, uint64_t cycles)
{
    histogram_add(e->delay, cycles);
    element_release(e, p);
}

/* run() of an element whose packets wait in a ring, each with the time at which it leaves. */
static inline void element_run_fifo(struct element *e, struct fifo *f, uint64_t until)
{
    struct path_packet p[ELEMENT_BURST];
    uint32_t n, max;

    do {
        uint64_t bytes = 0;

        max = element_burst(e);
        for (n = 0; n < max && fifo_count(f) > 0 && fifo_first(f)->at <= until; n++) {
            fifo_pop(f, &p[n]);
            bytes += p[n].len;
        }
        counter_set(&e->counts.queued_packets, e->counts.queued_packets - n);
        counter_set(&e->counts.queued_bytes, e->counts.queued_bytes - bytes);
        element_pass_burst(e, p, n);
    } while (n > 0 && n == max);
    e->due = fifo_count(f) > 0 ? fifo_first(f)->at : TIME_NEVER;
}

/* All kinds, by name; ends with NULL. */
extern const struct element_kind *const element_kinds[];

#endif
