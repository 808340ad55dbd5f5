/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a path's text into elements: chain_parse() reads the text into stages, chain_build() makes
 * the elements. It makes the chain of an `each` once for each flow.
 */
#ifndef SLUICE_PATH_CHAIN_H
#define SLUICE_PATH_CHAIN_H

#include "path/element.h"

#define CHAIN_STAGES_MAX   64u    /* stages, as written */
#define CHAIN_ELEMENTS_MAX 16384u /* elements, as made */
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

/* The elements made so far, downstream ones first. */
struct chain_elements {
    struct element **list; /* the caller's, with room for CHAIN_ELEMENTS_MAX */
    uint32_t n;
    struct path *path;
    uint64_t seed, since;
};

/* Makes the elements of a chain, whose packets go on to `rest`. *first is where packets enter:
 * `rest` itself if the chain is empty. Returns 0, -ENOMEM or -E2BIG (too many elements); out->list
 * has what was made, even then. */
int chain_build(struct chain_elements *out, struct stage *stage, uint32_t instance,
                struct element *rest, struct element **first);

#endif
