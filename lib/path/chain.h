/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From text to elements: chain_parse() reads what was written into stages, chain_build() makes the
 * elements, for `each` as many times as there are flows.
 */
#ifndef SLUICE_PATH_CHAIN_H
#define SLUICE_PATH_CHAIN_H

#include "path/element.h"

#define CHAIN_STAGES_MAX   64u    /* as written */
#define CHAIN_ELEMENTS_MAX 16384u /* as made */
#define CHAIN_DEPTH_MAX    4u

struct chain {
    struct stage *first;
    uint32_t stages;
    uint64_t seed; /* as the text says, if it does */
    bool seeded;
};

/* 0 or an error, kept in s; then nothing is left to free. */
int chain_parse(struct chain *c, struct spec *s);
void chain_free(struct chain *c);

/* The elements made, downstream ones first. */
struct chain_elements {
    struct element **list; /* room for CHAIN_ELEMENTS_MAX, the caller's */
    uint32_t n;
    struct path *path;
    uint64_t seed, since;
};

/* Makes the elements of a chain whose packets then go to `rest`. *first: where packets enter, rest
 * itself for an empty chain. 0, -ENOMEM, -E2BIG (too many); what was made is in the list. */
int chain_build(struct chain_elements *out, struct stage *stage, uint32_t instance,
                struct element *rest, struct element **first);

#endif
