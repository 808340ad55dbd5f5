/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line in virtual time: two ends, a path between them in each direction, and at each end nodes,
 * which are models of others' hosts. The same calls in the same order give the same line, bit for
 * bit.
 *
 * Time: cycles of `hz`. At one time, arriving frames come first, those to end 1 before those to end
 * 0. Then the nodes run, those at end 0 first, and at each end in the order in which they were
 * added. A frame for no node is freed.
 */
#ifndef SLUICE_MODEL_LINE_H
#define SLUICE_MODEL_LINE_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sim/node.h"

struct line;
struct path;

struct line_config {
    const char *spec[2]; /* paths (path/path.h) from end 0 to 1, and back */
    uint64_t hz, seed;
    uint32_t packets_max; /* on each path */
    struct rte_mempool *pool;
};

/* Returns NULL with a message in err if a path cannot be made. */
struct line *line_create(const struct line_config *cfg, char *err, size_t err_len);
void line_destroy(struct line *l);
/* Adds a node at end 0 or 1, at most NODES_MAX. The node's `self` must outlive the line. */
void line_add(struct line *l, uint32_t end, struct node node);
void line_run(struct line *l, uint64_t until);
/* The path that leaves that end. */
const struct path *line_path(const struct line *l, uint32_t end);

#endif
