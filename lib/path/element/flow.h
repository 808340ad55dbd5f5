/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements with chains of their own in parentheses: `match` sends each packet through the first
 * chain whose rule fits, `each` gives every flow its own copy of one chain. Behind the chains a
 * join puts all packets back into the order of their times.
 */
#ifndef SLUICE_PATH_FLOW_H
#define SLUICE_PATH_FLOW_H

#include "path/element.h"

extern const struct element_kind kind_match, kind_each, kind_join;

/* True for the kinds that open parentheses: match and each. */
bool flow_opens(const struct element_kind *kind);
/* Reads "( CHAIN )" and what may follow, into the stage's branches. */
int flow_parse_branches(struct spec *s, struct stage *stage,
                        int (*parse)(struct spec *s, struct stage **chain, void *ctx), void *ctx);
/* How many times each branch is made. */
uint32_t flow_copies(const struct stage *stage);
/* Sets where packets enter branch `branch / copies` of flow `branch % copies`. */
void flow_connect(struct element *e, uint32_t branch, struct element *first);
/* Sets where packets enter that belong to none of the n branches. */
void flow_connect_rest(struct element *e, uint32_t n, struct element *join);

#endif
