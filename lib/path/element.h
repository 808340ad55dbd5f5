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
 * spec gives an element are read-only and shared by the elements of all flows; a change at a time
 * replaces them as a whole.
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
    bool speaks;         /* a change of its params may make it send packets */
    size_t bytes;        /* size of its struct */
    size_t params_bytes; /* size of its params, zeroed before parse() */
    /* Reads what follows the name. 0, or an error kept in s. */
    int (*parse)(struct spec *s, void *params);
    /* Frees what parse() allocated inside params. May be NULL, like all that follow except
     * arrive. */
    void (*forget)(void *params);
    /* Allocates. 0 or -ENOMEM; fini() is called even after -ENOMEM. */
    int (*init)(struct element *e);
    void (*fini)(struct element *e); /* also frees the packets it holds */
    void (*arrive)(struct element *e, struct path_packet *p);
    /* Like arrive(), for n packets in the order of their times, with no change of params among
     * them. Runs the element before each packet that needs it. May overwrite the array p. */
    void (*arrive_burst)(struct element *e, struct path_packet *p, uint32_t n);
    /* Releases all packets due up to and including until, each at its own time, or fewer if
     * element_sated(). Sets e->due. */
    void (*run)(struct element *e, uint64_t until);
    /* e->params have replaced old at the time `at`. */
    void (*change)(struct element *e, const void *old, uint64_t at);
};

#define PATH_SEQ_STEP 8u /* sequence numbers for a packet and its copies */
#define ELEMENT_BURST 32u

/* The whole path, as its elements see it. */
struct path {
    struct path_config cfg;
    struct clock clock;
    struct path_counts counts;
    struct store store;
    struct fifo out;           /* packets that have left the last element, by time */
    uint32_t out_wanted;       /* the top element stops when out holds so many */
    const struct element *top; /* what path_run() runs now; never what an arrival runs */
    uint64_t now;
    /* Of the next packet that arrives; copies and packets made by hops take the numbers in
     * between. */
    uint32_t seq;
    struct chain *chain;
    struct element *first;  /* NULL: a wire */
    struct element **order; /* upstream before downstream */
    uint32_t n;
};

struct element {
    /* touched by every packet */
    const struct element_kind *kind;
    const void *params;
    struct element *next; /* where packets go; NULL: out of the path */
    struct path *path;
    uint64_t due;       /* when run() has something to do; TIME_NEVER: no time known */
    uint64_t change_at; /* when params change next */
    uint64_t held_at;   /* when the last packet that waits here arrived */
    bool blind;         /* arrivals do not depend on what waits: no run() before them */
    struct path_element_counts counts;
    struct rng rng;
    /* set-up */
    const struct stage *stage;
    uint32_t instance, changes_done;
    uint64_t since;                  /* when the path began */
    struct histogram *delay, *queue; /* NULL if the kind holds nothing */
};

/* A stage of a chain, as written: elements are made from it. */
struct stage_change {
    uint64_t after; /* cycles from the path's beginning */
    void *params;
    struct stage_change *next;
};

struct stage {
    const struct element_kind *kind;
    void *params;
    struct stage_change *changes; /* by time */
    struct stage *next;           /* the next one in the chain */
    char *text;
    uint32_t depth, number; /* parentheses around it; its position in the text */
    /* flow elements: chains in parentheses; a NULL one is a wire */
    struct stage *branches[8];
    uint32_t n_branches;
};

/* Applies the element's changes and releases its packets, up to and including until. */
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

/* True if this poll has enough packets: then run() of the top element stops, with e->due at the
 * first packet that it left. */
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

/* n > 0 packets in order of their times. */
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

/* Brings packets to an element, or out of the path if `to` is NULL; n as above. */
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

/* A packet begins to wait here. */
static inline void element_hold(struct element *e, const struct path_packet *p)
{
    struct path_element_counts *c = &e->counts;

    /* packets of the same time count as one look at the queue */
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

/* A packet's wait ends here; how long it takes was recorded when it began. */
static inline void element_release(struct element *e, const struct path_packet *p)
{
    counter_set(&e->counts.queued_packets, e->counts.queued_packets - 1);
    counter_set(&e->counts.queued_bytes, e->counts.queued_bytes - p->len);
}

/* A packet's wait ends here, after so many cycles. */
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
