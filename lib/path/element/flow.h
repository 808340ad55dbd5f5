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
/* True if the stage gives each flow a chain of its own. */
bool flow_divides(const struct stage *stage);
/* Reads "( CHAIN )" into the stage's branches; for `match`, also any "or RULE ( CHAIN )" and "else
 * ( CHAIN )" that follow. parse() reads what is between the parentheses. */
int flow_parse_branches(struct spec *s, struct stage *stage,
                        int (*parse)(struct spec *s, struct stage **chain, void *ctx), void *ctx);
/* How many times each branch of the stage is made. */
uint32_t flow_copies(const struct stage *stage);
/* Sets the first element of a branch. With n = flow_copies(), `branch` is copy branch % n of the
 * chain branch / n of the stage. */
void flow_connect(struct element *e, uint32_t branch, struct element *first);
/* Makes `join` the next element for packets that belong to none of the n branches. */
void flow_connect_rest(struct element *e, uint32_t n, struct element *join);

#endif
