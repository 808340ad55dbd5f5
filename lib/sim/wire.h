/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What carries frames between hosts. A wire is one direction of a host's cable: a path, or a plain
 * link. The sky holds all frames under way on plain links, ordered by (arrival, order of sending).
 */
#ifndef SLUICE_SIM_WIRE_H
#define SLUICE_SIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct path;

struct wire {
    struct path *path; /* NULL: a plain link, whose frames are in the sky */
};

struct wire_make {
    const char *spec; /* of the path (path/path.h); NULL: a plain link */
    uint64_t seed;
    uint32_t packets_max;
    struct rte_mempool *pool;
};

/* False with a message in err. */
bool wire_create(struct wire *l, const struct wire_make *make, uint64_t now, char *err,
                 size_t err_len);
/* Makes the wire plain; frames under way on it are lost. */
void wire_destroy(struct wire *l);
bool wire_is_path(const struct wire *l);
/* Sends m on the wire's path, and owns it. m may be NULL. */
void wire_push(struct wire *l, struct rte_mbuf *m, uint64_t now);
/* A frame that has arrived, or NULL. */
struct rte_mbuf *wire_pop(struct wire *l, uint64_t now);
/* When to pop next, after now; TIME_NEVER if never. */
uint64_t wire_next(const struct wire *l, uint64_t now);

struct flight {
    uint64_t at;
    uint64_t order; /* among equals: first sent, first delivered */
    struct rte_mbuf *m;
    uint32_t from, to; /* hosts. If `to` is WORLD_HOSTS_MAX, the frame's MAC address names
                           the host; if it is one more, the frame is not sent yet */
};

struct sky {
    struct flight *heap;
    uint32_t count, max;
    uint64_t order;
};

void sky_init(struct sky *s, struct flight *storage, uint32_t max);
void sky_clear(struct sky *s);
/* False if there is no room. */
bool sky_push(struct sky *s, struct flight f);
uint64_t sky_next(const struct sky *s);
struct flight sky_pop(struct sky *s);

#endif
