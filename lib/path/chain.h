/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a path's text into elements: chain_parse() reads the text into stages, chain_build() makes
 * the elements. chain_build() makes the chain of an `each` once for each flow.
 */
#ifndef SLUICE_PATH_CHAIN_H
#define SLUICE_PATH_CHAIN_H

#include "path/element.h"

#define CHAIN_STAGES_MAX   64u /* elements that the text may name */
/* elements of a path; those in an `each` count once for each flow */
#define CHAIN_ELEMENTS_MAX 16384u
#define CHAIN_DEPTH_MAX    4u

struct chain {
    struct stage *first;
    uint32_t stages;
    uint64_t seed; /* from the text; valid if seeded */
    bool seeded;
};

/* 0, or an error kept in s; after an error nothing is left to free. */
int chain_parse(struct chain *c, struct spec *s);
void chain_free(struct chain *c);

/* The first stage of the chain, or of a chain inside it, that flows have in common (path_common());
 * NULL if there is none. */
const struct stage *chain_common(const struct stage *first);

/* The elements made so far, downstream ones first. */
struct chain_elements {
    struct element **list; /* the caller's, with room for CHAIN_ELEMENTS_MAX */
    uint32_t n;
    struct path *path;
    uint64_t seed, since;
};

/* Makes the elements of the chain that begins with `stage`. Packets go on from its last element to
 * `rest`. *first is where packets enter: `rest` itself if the chain is empty. Returns 0, -ENOMEM or
 * -E2BIG (too many elements). After an error, too, out->list has the elements made so far. */
int chain_build(struct chain_elements *out, struct stage *stage, uint32_t instance,
                struct element *rest, struct element **first);

#endif
